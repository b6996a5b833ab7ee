import type { StaticRoute } from "../http/dispatch.js";
import type { HttpResponse } from "../http/response.js";

/**
 * State of a server: `starting` before recovery has begun, `ready`, `draining` during shutdown, and `unavailable`
 * (reads only) while the store cannot be written.
 */
export type Readiness = "starting" | "ready" | "unavailable" | "draining";

/**
 * Answers the health checks of an orchestrator: `/healthz` succeeds while the process is alive, `/readyz` while it
 * accepts new work. Returns undefined for other paths.
 */
export function healthAnswer(path: string, readiness: Readiness): HttpResponse | undefined {
  if (path === "/healthz") return status(200, "ok");
  if (path === "/readyz") return status(readiness === "ready" ? 200 : 503, readiness);
  return undefined;
}

function status(code: number, word: string): HttpResponse {
  return {
    status: code,
    type: "application/json",
    headers: [["cache-control", "no-store"]],
    body: JSON.stringify({ status: word }),
  };
}

/** The route of both health checks. */
export function healthRoute(of: { readonly readiness: Readiness }): StaticRoute {
  return ({ target }) => healthAnswer(target.path, of.readiness);
}
