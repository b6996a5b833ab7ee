import type { AgentDirectory, AgentRegistration } from "../card/agents.js";
import { CONSOLE_PATH } from "../console/path.js";
import type { StaticRoute } from "../http/dispatch.js";
import type { HttpRequest } from "../http/request.js";
import { pageHeaders, pageOf } from "../page/page.js";
import { plainOf } from "../page/plain.js";
import { WELL_KNOWN_PATH } from "../wire/card-names.js";
import { cardAt, requestOrigin } from "./card-route.js";
import type { Settings } from "./options.js";
import type { PublicAddress } from "./public-address.js";

const { "content-type": type = "text/html", ...others } = pageHeaders;
const headers = [...Object.entries(others), ["cache-control", "no-cache"] as const];

const plain = [["cache-control", "no-cache"] as const, ["vary", "accept"] as const];

/**
 * Serves the page of the first agent at the root, and that of each agent at its tenant. Clients that accept HTML by
 * name, like browsers, get HTML; clients that accept anything, like curl, get a few lines of text. Other requests do
 * not match.
 */
export function createPageRoute(settings: Settings, address: PublicAddress): StaticRoute {
  const { agents, basePath } = settings;
  return (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") return undefined;
    const { path, mount = basePath } = request.target;
    const served = shownAt(agents, path);
    const form = served === undefined ? undefined : formFor(request);
    if (served === undefined || form === undefined) return undefined;
    const origin = requestOrigin(request, mount);
    const card = cardAt(served, address, origin);
    if (form === "text") {
      const body = plainOf(card, `${address.url(origin)}${agentPath(served)}${WELL_KNOWN_PATH}`);
      return { status: 200, type: "text/plain; charset=utf-8", headers: plain, body };
    }
    const body = pageOf({
      card,
      base: mount + agentPath(served),
      ...(settings.console?.isServed === true && { console: `${mount}${CONSOLE_PATH}/` }),
      agents: agents.all.map((each) => ({
        name: each.card.name,
        path: mount + (agentPath(each) || "/"),
        isShown: each === served,
      })),
    });
    return { status: 200, type, headers, body };
  };
}

/** Returns the path of an agent below that of its server; empty for the agent at the root. */
export function agentPath({ tenant }: AgentRegistration): string {
  return tenant === "" ? "" : `/${encodeURIComponent(tenant)}`;
}

function shownAt({ all }: AgentDirectory, path: string): AgentRegistration | undefined {
  return path === "/" ? all[0] : all.find((served) => served.tenant !== "" && agentPath(served) === path);
}

/**
 * Returns `html` if `Accept` names HTML, `text` if it allows anything, and undefined for programs, which name another
 * type.
 */
function formFor(request: HttpRequest): "html" | "text" | undefined {
  const types = request.header("accept")?.split(",") ?? [];
  const names = (form: RegExp): boolean =>
    types.some((each) => form.test(each) && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(each));
  if (names(/^\s*text\/html\s*(?:;|$)/i)) return "html";
  return types.every((each) => /^\s*(?:\*\/\*|text\/(?:\*|plain))\s*(?:;|$)/i.test(each)) && names(/./)
    ? "text"
    : undefined;
}
