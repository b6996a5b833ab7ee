import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentDirectory, AgentRegistration } from "../card/agents.js";
import { withInterfaces } from "../card/interfaces.js";
import type { CardSigner } from "../card/signing/signer.js";
import { type Conditions, cardText, createDocuments } from "../card/well-known.js";
import type { Logger } from "../core/log.js";
import { forwardedHeaders } from "../http/forwarded.js";
import type { HttpRequest } from "../http/request.js";
import type { RequestOrigin } from "../http/request-origin.js";
import type { HttpResponse } from "../http/response.js";
import { WELL_KNOWN_PATH } from "../wire/card-names.js";
import { JWKS_PATH } from "../wire/webhook.js";
import type { StaticRoute } from "./dispatch.js";
import type { Settings } from "./options.js";
import type { PublicAddress } from "./public-address.js";
import type { PublicKeys } from "./public-keys.js";

/** The card of the first agent at the well-known path, and that of each agent below its tenant (specification 8.2, 8.6). */
export function createCardRoute(
  settings: Settings,
  address: PublicAddress,
  signer: CardSigner | undefined,
): StaticRoute {
  const documents = createDocuments("application/json", {
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
    const conditions = conditionsOf(request);
    if (signer === undefined) return documents.now(key, () => cardText(cardAt(served, address, origin)), conditions);
    const make = async (): Promise<string> => cardText(await signer.sign(cardAt(served, address, origin)));
    return answered(documents.later(key, make, conditions), settings.logger, "cards cannot be signed");
  };
}

/** The public keys that the server's cards and notifications are signed by. */
export function createKeysRoute(
  { cardMaxAgeSeconds, logger }: Settings,
  publicKeys: () => Promise<PublicKeys>,
): StaticRoute {
  const caching = { maxAgeSeconds: cardMaxAgeSeconds, since: new Date(), vary: [] };
  const documents = createDocuments("application/jwk-set+json", caching);
  const make = async (): Promise<string> => JSON.stringify(await publicKeys());
  return (request) => {
    if (request.target.path !== JWKS_PATH) return undefined;
    return answered(documents.later("", make, conditionsOf(request)), logger, "public keys cannot be shown");
  };
}

/** An answer that cannot be made is an error of the server. It never rejects: not everybody who asks for an answer uses it. */
function answered(
  answer: HttpResponse | Promise<HttpResponse>,
  logger: Logger,
  fault: string,
): HttpResponse | Promise<HttpResponse> {
  if (!(answer instanceof Promise)) return answer;
  return answer.catch((error: unknown) => {
    logger.error({ err: error }, fault);
    return { status: 500 };
  });
}

function conditionsOf(request: HttpRequest): Conditions {
  return { ifNoneMatch: request.header("if-none-match"), ifModifiedSince: request.header("if-modified-since") };
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
