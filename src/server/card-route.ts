import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentDirectory, AgentRegistration } from "../card/agents.js";
import { withInterfaces } from "../card/interfaces.js";
import { createCardAnswers, WELL_KNOWN_PATH } from "../card/well-known.js";
import { forwardedHeaders } from "../http/forwarded.js";
import type { HttpRequest } from "../http/request.js";
import type { RequestOrigin } from "../http/request-origin.js";
import type { StaticRoute } from "./dispatch.js";
import type { Settings } from "./options.js";
import type { PublicAddress } from "./public-address.js";

/** The card of the first agent at the well-known path, and that of each agent below its tenant (specification 8.2, 8.6). */
export function createCardRoute(settings: Settings, address: PublicAddress): StaticRoute {
  const answer = createCardAnswers({
    maxAgeSeconds: settings.cardMaxAgeSeconds,
    since: new Date(),
    vary: settings.trust === undefined ? [] : forwardedHeaders,
  });
  return (request) => {
    const { path, mount = settings.basePath } = request.target;
    const served = path.endsWith(WELL_KNOWN_PATH) ? shownAt(settings.agents, path) : undefined;
    if (served === undefined) return undefined;
    const origin = originOf(request, mount);
    const key = JSON.stringify(address.endpoints(served.tenant, origin));
    return answer(key, () => cardAt(served, address, origin), {
      ifNoneMatch: request.header("if-none-match"),
      ifModifiedSince: request.header("if-modified-since"),
    });
  };
}

/** The card of an agent, with the interface addresses that work for a request of this origin. */
export function cardAt(served: AgentRegistration, address: PublicAddress, origin?: RequestOrigin): AgentCard {
  return withInterfaces(served.card, address.interfaces(served.tenant, origin));
}

function shownAt({ all }: AgentDirectory, path: string): AgentRegistration | undefined {
  if (path === WELL_KNOWN_PATH) return all[0];
  try {
    const tenant = decodeURIComponent(path.slice(1, -WELL_KNOWN_PATH.length));
    return all.find((served) => served.tenant !== "" && served.tenant === tenant);
  } catch {
    return undefined;
  }
}

/** The origin of a request, which decides the addresses that its answer names. */
export function originOf(request: HttpRequest, mount: string): RequestOrigin {
  const { address, encrypted } = request.peer;
  return { header: (name) => request.header(name), address, encrypted, mount };
}
