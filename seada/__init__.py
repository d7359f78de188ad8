"""seada"""
