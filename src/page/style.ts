/** The page's whole style sheet: light and dark, from 320 pixels on, with the fonts of the system. */
export const style = `
:root{color-scheme:light dark;--ink:light-dark(#1d2330,#e6e9ef);--soft:light-dark(#5a6475,#9aa5b8);--paper:light-dark(#f6f7f9,#12151b);
--card:light-dark(#fff,#1a1f28);--line:light-dark(#dde1e8,#2d3442);--edge:light-dark(#7f8898,#6f7b90);--accent:light-dark(#3450c8,#8ea3ff);--on-accent:light-dark(#fff,#10131a);
--good:light-dark(#1b7a43,#5fd191);--bad:light-dark(#b3261e,#ff8a80);--wait:light-dark(#8a5a00,#f0c05a)}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:64rem;margin:0 auto;padding:1.5rem 1rem 4rem;display:grid;gap:1.25rem;grid-template-columns:minmax(0,1fr)}
h1{font-size:1.6rem;line-height:1.2;margin:0}
h2{font-size:1.05rem;margin:0 0 .75rem}
h3{font-size:1rem;margin:0}
p{margin:.25rem 0}
.soft{color:var(--soft)}
.small{font-size:.875rem}
section{background:var(--card);border:1px solid var(--line);border-radius:.75rem;padding:1rem}
nav{display:flex;flex-wrap:wrap;gap:.5rem}
nav a{padding:.15rem .7rem;border:1px solid var(--line);border-radius:1rem;text-decoration:none}
nav a[aria-current]{background:var(--accent);border-color:var(--accent);color:var(--on-accent)}
a{color:var(--accent)}
ul{list-style:none;margin:0;padding:0;display:grid;gap:.75rem}
.tag{display:inline-block;font-size:.8rem;color:var(--soft);border:1px solid var(--line);border-radius:1rem;padding:0 .55rem;margin:.15rem .25rem 0 0}
textarea,input{width:100%;font:inherit;color:inherit;background:var(--paper);border:1px solid var(--edge);border-radius:.5rem;padding:.5rem .6rem}
textarea{min-height:4.5rem;resize:vertical}
::placeholder{color:var(--soft);opacity:1}
button{font:inherit;color:inherit;background:none;border:1px solid var(--edge);border-radius:.5rem;padding:.35rem .9rem;cursor:pointer}
button.main{background:var(--accent);border-color:var(--accent);color:var(--on-accent)}
button:disabled{opacity:.5;cursor:default}
button.link{border:0;padding:0;color:var(--accent);text-decoration:underline;text-align:left}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.row{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;margin-top:.6rem}
pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere;font:.85rem/1.5 ui-monospace,monospace}
.command{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:.5rem;align-items:start;background:var(--paper);border:1px solid var(--line);border-radius:.5rem;padding:.5rem .6rem;margin-top:.35rem}
.command button{padding:.1rem .6rem;font-size:.85rem;justify-self:end}
.skills{grid-template-columns:repeat(auto-fill,minmax(min(18rem,100%),1fr));gap:1rem 1.5rem}
@media(max-width:40rem){.command{grid-template-columns:minmax(0,1fr)}}
summary{cursor:pointer;font-weight:600}
details>pre{margin-top:.75rem;max-height:30rem;overflow:auto}
#talk{margin:1rem 0}
#talk pre:not(.code){font:inherit}
#now{min-height:1.3rem;margin:.5rem 0 0}
#talk li{border-left:3px solid var(--line);padding-left:.7rem}
#talk .you{border-color:var(--accent)}
#talk .bad{border-color:var(--bad)}
.state{font-weight:600;font-size:.85rem}
.good{color:var(--good)}.bad{color:var(--bad)}.wait{color:var(--wait)}
`;
