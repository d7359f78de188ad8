"""The style sheet of the report page."""

STYLESHEET = """
:root {
  --ink: #1c2733; --muted: #5d6a78; --line: #e3e8ed; --paper: #ffffff; --back: #f5f7f9;
  --accent: #1f6f8b; --warn: #9a5b00; --warn-back: #fff6e5; --good: #2a7d62;
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", Arial, sans-serif;
}
main { max-width: 1180px; margin: 0 auto; padding: 0 20px 60px; }
header.top { background: #17303d; color: #eef4f7; padding: 34px 0 86px; }
header.top .inner { max-width: 1180px; margin: 0 auto; padding: 0 20px; }
header.top .eyebrow { letter-spacing: .08em; text-transform: uppercase; font-size: 12px; color: #9fc1cf; }
header.top h1 { margin: 6px 0 4px; font-size: 30px; line-height: 1.2; font-weight: 650; }
header.top h1 span { color: #9fc1cf; font-weight: 400; }
header.top p { margin: 0; color: #c6d8e0; }
h2 { font-size: 20px; margin: 40px 0 10px; font-weight: 650; }
h3 { font-size: 15px; margin: 0 0 2px; font-weight: 650; }
p.caption { margin: 0 0 10px; color: var(--muted); font-size: 13px; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(158px, 1fr)); gap: 12px; margin-top: -62px; }
.card { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 13px 16px 12px; }
.card .label { color: var(--muted); font-size: 12.5px; }
.card .value { font-size: 23px; font-weight: 650; line-height: 1.25; white-space: nowrap; }
.card .value small { font-size: 14px; font-weight: 500; color: var(--muted); }
.card .more { color: var(--muted); font-size: 12.5px; }
.panel { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px; margin-top: 14px; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(460px, 1fr)); gap: 14px; }
.pair .panel { margin-top: 0; }
.pair { margin-top: 14px; }
figure { margin: 0; }
figure svg { width: 100%; height: auto; display: block; }
.notice { border-left: 4px solid #d98e04; background: var(--warn-back); padding: 10px 16px; border-radius: 6px; margin-top: 14px; }
.notice p { margin: 2px 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th { text-align: left; font-weight: 600; color: var(--muted); border-bottom: 1px solid #cfd8df; padding: 6px 10px 6px 0; vertical-align: bottom; }
td { border-bottom: 1px solid var(--line); padding: 5px 10px 5px 0; vertical-align: top; }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.rows { min-width: 1010px; font-size: 13px; }
.grid {
  display: grid; align-items: center; column-gap: 12px; padding: 5px 8px 5px 0;
  grid-template-columns: 16px minmax(150px, 2fr) 112px 128px 88px 92px 74px 92px 74px 64px minmax(88px, 1fr) 84px;
}
.rows > .head { color: var(--muted); font-weight: 600; border-bottom: 1px solid #cfd8df; align-items: end; }
.rows .unit { font-weight: 400; }
.rows details { border-bottom: 1px solid var(--line); }
.rows summary { cursor: pointer; list-style: none; }
.rows summary::-webkit-details-marker { display: none; }
.rows summary:hover { background: #f2f6f8; }
.rows details > summary .mark::before { content: "\\25B8"; color: var(--muted); }
.rows details[open] > summary .mark::before { content: "\\25BE"; }
.rows .flat { border-bottom: 1px solid var(--line); }
.rows .minor { color: var(--muted); }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.name { overflow-wrap: anywhere; font-weight: 550; }
.minor .name { font-weight: 400; }
.chip { display: inline-block; border-radius: 4px; padding: 0 6px; font-size: 12px; line-height: 19px; white-space: nowrap; }
.bar { position: relative; }
.bar i { position: absolute; left: 0; top: 3px; bottom: 3px; background: #d4e6ec; border-radius: 2px; z-index: 0; }
.bar b { position: relative; font-weight: 400; z-index: 1; }
.ok { color: var(--good); }
.detail { display: grid; grid-template-columns: minmax(320px, 1.25fr) minmax(260px, 1fr) minmax(240px, 1fr); gap: 26px; padding: 8px 12px 18px 28px; }
.detail h4 { margin: 8px 0 4px; font-size: 12.5px; color: var(--muted); font-weight: 600; }
.detail p { margin: 4px 0; font-size: 12.5px; color: var(--muted); }
pre { margin: 0; padding: 12px 14px; background: #f4f7f9; border: 1px solid var(--line); border-radius: 6px; overflow-x: auto;
  font: 12px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.detail table td { padding: 2px 8px 2px 0; border-bottom: 1px dotted var(--line); font-size: 12.5px; }
.badge { display: inline-block; border-radius: 10px; padding: 0 9px; font-size: 12px; line-height: 20px; white-space: nowrap; }
.badge.published { background: #dff1ea; color: #1d6b50; }
.badge.derived { background: #e2edf5; color: #275d82; }
.badge.unverified { background: #fff0d6; color: #8a5300; }
.badge.placeholder { background: #fbdfdf; color: #8d2020; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(340px, 1fr)); gap: 10px 34px; }
ul { margin: 6px 0; padding-left: 19px; }
li { margin: 3px 0; }
.more-details > summary { cursor: pointer; color: var(--accent); font-weight: 550; padding: 4px 0; }
footer { color: var(--muted); font-size: 12.5px; margin-top: 34px; }
code { font: 12.5px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
@media (max-width: 720px) { .pair { grid-template-columns: 1fr; } .detail { grid-template-columns: 1fr; } }
@media print { body { background: #fff; } .panel, .card { break-inside: avoid; } header.top { background: #fff; color: #000; } }
"""
