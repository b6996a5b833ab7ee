import { createHash } from "node:crypto";
import { type AgentCard, AgentCardSchema, type AgentSkill } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { parseUrl } from "../core/net.js";
import { PROTOCOL_VERSION } from "../version/v1.js";
import { jsonWriter } from "../wire/json-writer.js";
import { credentialHeader, shellCommand, shownCredentials, shownQuery, titleOf } from "./command.js";
import { script } from "./script.js";
import { style } from "./style.js";

/** Contents of a page. */
export interface PageContent {
  /** The card as this client sees it, with its interfaces. */
  readonly card: AgentCard;
  /** Path of the page's own interfaces on this host, without a slash at the end: the mount, then the tenant. */
  readonly base: string;
  /** Path of the server's console; undefined without one. */
  readonly console?: string;
  /** All agents of the server, with the paths of their pages. */
  readonly agents: readonly { readonly name: string; readonly path: string; readonly isShown: boolean }[];
}

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/**
 * Headers of every page. The page loads nothing, runs only its own script, and cannot be framed by another page.
 */
export const pageHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "referrer-policy": "no-referrer",
  vary: "accept",
};

const cardJson = jsonWriter(AgentCardSchema);

/** A page for browsers: describes the agent and its interfaces, with a box to talk to it. */
export function pageOf(content: PageContent): string {
  const { card } = content;
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${card.name}</title><link rel="icon" href="data:,"><style>${new Html(style)}</style></head><body><main>
${agentsOf(content)}${pageHeader(content)}${talkSection(content)}${skillsOf(card)}${interfacesOf(content)}${cardOf(content)}
</main><script>${new Html(script)}</script></body></html>
`.text;
}

function agentsOf({ agents }: PageContent): Html {
  if (agents.length < 2) return html``;
  const links = agents.map(
    ({ name, path, isShown }) => html`<a href="${path}"${isShown ? html` aria-current="page"` : undefined}>${name}</a>`,
  );
  return html`<nav aria-label="Agents">${links}</nav>`;
}

function pageHeader({ card, console }: PageContent): Html {
  const { name, description, version, provider, documentationUrl } = card;
  const by = provider === undefined ? undefined : html` &middot; ${linkOf(provider.url, provider.organization)}`;
  const docs = isLink(documentationUrl ?? "")
    ? html` &middot; ${linkOf(documentationUrl ?? "", "documentation")}`
    : undefined;
  const inside = console === undefined ? undefined : html` &middot; <a href="${console}">console</a>`;
  return html`<header><h1>${name}</h1><p>${description}</p>
<p class="soft small">version ${version} &middot; A2A ${PROTOCOL_VERSION}${by}${docs}${inside}</p></header>`;
}

function linkOf(url: string, text: string): Html {
  return isLink(url) ? html`<a href="${url}" rel="noreferrer">${text}</a>` : html`${text}`;
}

function talkSection({ card, base }: PageContent): Html {
  const streams = card.capabilities?.streaming === true ? "yes" : "no";
  const isSecured = card.securityRequirements.length > 0;
  const header = credentialHeader(card);
  const credentials =
    header === "authorization" ? "Authorization header, such as: Bearer \u2026" : `API key (${header})`;
  return html`<section><h2>Talk to it</h2>
<form id="send" data-base="${base}" data-streams="${streams}">
<textarea id="text" aria-label="Message" placeholder="A message. Enter sends it."></textarea>
<details id="who"${isSecured ? html` open` : undefined}><summary class="small">Credentials</summary>
<input id="auth" type="password" autocomplete="off" data-header="${header}" aria-label="Credentials" placeholder="${credentials}"></details>
<div class="row"><button class="main" id="go">Send</button><button type="button" id="cancel" hidden>Cancel</button>
<button type="button" id="new" hidden>New conversation</button></div></form>
<p id="now" class="soft small" role="status"></p>
<div id="log" role="log" aria-label="Conversation"><ul id="talk"></ul></div>
<details><summary class="small soft">Events as they came</summary><pre id="raw" tabindex="0" role="region" aria-label="Events"></pre></details></section>`;
}

function skillsOf({ skills }: AgentCard): Html {
  if (skills.length === 0) return html``;
  return html`<section><h2>Skills</h2><ul class="skills">${skills.map(skillOf)}</ul></section>`;
}

function skillOf({ name, description, tags, examples }: AgentSkill): Html {
  const tried = examples.map(
    (example) => html`<br><button class="link small" type="button" data-example="${example}">${example}</button>`,
  );
  return html`<li><h3>${name}</h3><p>${description}</p>${tags.map((tag) => html`<span class="tag">${tag}</span>`)}${tried}</li>`;
}

function interfacesOf({ card }: PageContent): Html {
  const shown = card.supportedInterfaces.map((each) => {
    const { url, tenant } = each;
    const title = titleOf(each);
    return html`<li><h3>${title}</h3>
<p class="soft small">${url}${tenant === "" ? undefined : html` &middot; tenant ${tenant}`}</p>${command(title, shellCommand(each, shownCredentials(card), shownQuery(card)))}</li>`;
  });
  return html`<section><h2>Interfaces</h2><ul>${shown}</ul></section>`;
}

function command(title: string, text: string | undefined): Html | undefined {
  if (text === undefined) return undefined;
  return html`<div class="command"><pre>${text}</pre><button type="button" data-copy aria-label="Copy the command for ${title}">Copy</button></div>`;
}

function cardOf({ card, base }: PageContent): Html {
  const shown = JSON.stringify(JSON.parse(cardJson(card)), null, 2);
  return html`<section><details><summary>Agent card</summary><p><a href="${base}/.well-known/agent-card.json">As machines read it</a></p>
<pre tabindex="0" role="region" aria-label="Agent card as JSON">${shown}</pre></details></section>`;
}

/** Markup that needs no further escaping. */
class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Value = Html | string | undefined | readonly (Html | string)[];

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** An HTML template: values are escaped unless they are `Html`; undefined is empty, lists are joined. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(htmlText)));
}

function htmlText(value: Value): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "string") return value.replace(/[&<>"']/g, (character) => escapes[character] ?? "");
  return value.map(htmlText).join("");
}

/** True for a link to the web or to mail. Others, such as `javascript:`, are not linked. */
export function isLink(url: string): boolean {
  return ["http:", "https:", "mailto:"].includes(parseUrl(url)?.protocol ?? "");
}
