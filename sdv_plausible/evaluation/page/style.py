"""The style sheet of the HTML report."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #F4F5F7; color: #222; font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 12px; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .6rem 0 .2rem; }
h2 { font-size: 1.3rem; margin: 1.6rem 0 .3rem; overflow-wrap: anywhere; }
h3 { font-size: 1.1rem; margin: 0 0 .3rem; }
header p { margin: 0 0 .8rem; color: #555; }
section { background: #FFF; border: 1px solid #DDD; border-radius: 8px; padding: 14px; margin: 14px 0; }
section > p { max-width: 75ch; margin: .3rem 0 .8rem; }
.guarantee { border-left: 6px solid #009E73; }
.guarantee.none { border-left-color: #D55E00; }
.guarantee h2 { margin-top: 0; }
blockquote { margin: .5rem 0 1rem; font-size: 1.12rem; font-weight: 600; max-width: 75ch; }
.banner { border-radius: 8px; padding: 10px 14px; font-weight: 600; margin: 8px 0; }
.banner.private { background: #FDECE4; border: 1px solid #D55E00; }
.banner.public { background: #E5F5EF; border: 1px solid #009E73; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 10px; }
.card { border: 1px solid #DDD; border-radius: 8px; padding: 10px; }
.card b { display: block; font-size: 1.5rem; }
.card span { color: #555; font-size: .9rem; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); gap: 14px; }
.grid.wide { grid-template-columns: repeat(auto-fill, minmax(min(100%, 480px), 1fr)); }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr)); gap: 14px; }
.beside .grid { grid-template-columns: 1fr; }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; font-size: .95rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
svg { display: block; font: 11px system-ui, sans-serif; fill: #333; }
.grid:not(.wide) svg { max-width: 100%; height: auto; }
.grid.wide svg { width: 100%; height: auto; max-width: 470px; min-width: var(--natural); }
.grid.alone { grid-template-columns: minmax(0, 1fr); }
@media (min-width: 1000px) { .grid.alone svg { max-width: 1000px; min-width: 0; } }
.key span { display: inline-flex; align-items: center; margin-right: 16px; }
.key i { width: 14px; height: 14px; border-radius: 3px; margin-right: 6px; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: 5px 8px; border-bottom: 1px solid #E3E3E3; }
td:first-child { overflow-wrap: anywhere; }
th { color: #555; font-weight: 600; }
@media (max-width: 620px) {
  main { padding: 8px; }
  section { padding: 12px 10px; }
  th, td { padding: 4px 5px; }
  .words thead { display: none; }
  .words tr { display: block; border-bottom: 2px solid #DDD; padding: 6px 0; }
  .words td { display: flex; overflow-wrap: anywhere; border: 0; padding: 2px 0; }
  .words td:empty { display: none; }
  .words td::before { content: attr(data-label); flex: 0 0 8em; color: #555; }
}
@media print { body { background: #FFF; } section { break-inside: avoid-page; } }
"""
