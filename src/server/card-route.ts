import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentDirectory, AgentRegistration } from "../card/agents.js";
import { withInterfaces } from "../card/interfaces.js";
import { membersOfCard } from "../card/signing/canonical.js";
import type { CardSigner } from "../card/signing/signer.js";
import { type Conditions, cardText, createDocuments, type DocumentAnswer } from "../card/well-known.js";
import type { Logger } from "../core/log.js";
import { forwardedHeaders } from "../http/forwarded.js";
import type { HttpRequest } from "../http/request.js";
import type { RequestOrigin } from "../http/request-origin.js";
import type { HttpResponse } from "../http/response.js";
import { type CardShape, cardShapesOf } from "../version/card-shapes.js";
import { parseVersion, VERSION_PARAMETER, versionFromQuery } from "../wire/service-params.js";
import { JWKS_PATH } from "../wire/webhook.js";
import type { StaticRoute } from "./dispatch.js";
import type { Settings } from "./options.js";
import type { PublicAddress } from "./public-address.js";
import type { PublicKeys } from "./public-keys.js";

/**
 * The card of the first agent at the well-known paths, and that of each agent below its tenant (specification 8.2, 8.6), in the shape
 * of the version that a request names, or in one that several read.
 */
export function createCardRoute(
  settings: Settings,
  address: PublicAddress,
  signer: CardSigner | undefined,
): StaticRoute {
  const { agents, basePath, logger, versions } = settings;
  const documents = createDocuments("application/json", {
    maxAgeSeconds: settings.cardMaxAgeSeconds,
    since: new Date(),
    vary: [VERSION_HEADER, ...(settings.trust === undefined ? [] : forwardedHeaders)],
  });
  const paths = cardShapesOf(versions);
  const fault = signer === undefined ? "cards cannot be shown" : "cards cannot be signed";
  return (request) => {
    const { path, mount = basePath } = request.target;
    const shapes = paths.find((each) => path.endsWith(each.path));
    const served = shapes && shownAt(agents, path, shapes.path);
    if (shapes === undefined || served === undefined) return undefined;
    const shape = shapes.for(request.header(VERSION_PARAMETER) ?? versionFromQuery(request.target.query));
    const origin = originOf(request, mount);
    const { name } = typeof shape === "string" ? { name: shape } : shape;
    const key = JSON.stringify([name, address.endpoints(served.tenant, origin)]);
    const conditions = conditionsOf(request);
    const shown: Shown = { served, address, origin, signer };
    if (typeof shape === "string" && signer === undefined) {
      return documents.now(key, () => cardText(cardIn(shape, shown)), conditions);
    }
    const answer = documents.later(key, () => textIn(shape, shown), conditions);
    const absent = (given: DocumentAnswer): HttpResponse => (given.status === 404 ? why(given, name, shown) : given);
    return answered(answer instanceof Promise ? answer.then(absent) : answer, logger, fault);
  };
}

/** Says why a card is not there: whoever asks for one of this version has most likely read that it is spoken. */
function why(given: DocumentAnswer, shape: string, { served }: Shown): HttpResponse {
  const reason =
    served.tenant === ""
      ? "what it requires cannot be said in that version"
      : "it needs a tenant, which calls of that version cannot name";
  const version = parseVersion(shape) === undefined ? "an earlier version of A2A" : `A2A ${shape}`;
  return { ...given, type: "text/plain; charset=utf-8", body: `This agent has no card of ${version}: ${reason}.\n` };
}

/** The card that is asked for. */
interface Shown {
  readonly served: AgentRegistration;
  readonly address: PublicAddress;
  readonly origin: RequestOrigin;
  readonly signer: CardSigner | undefined;
}

function cardIn(shape: "native" | "all", { served, address, origin }: Shown): AgentCard {
  if (shape === "all") return cardAt(served, address, origin);
  return withInterfaces(served.card, address.nativeInterfaces(served.tenant, origin));
}

/** A card in a shape, signed where cards are; undefined where it cannot be said in it. */
async function textIn(shape: CardShape, shown: Shown): Promise<string | undefined> {
  const { signer } = shown;
  if (typeof shape === "string") {
    const card = cardIn(shape, shown);
    return cardText(signer === undefined ? card : await signer.sign(card));
  }
  const make = await shape.load();
  const card = make(JSON.parse(cardText(cardIn("all", shown))));
  if (card === undefined) return shape.orNative ? textIn("native", shown) : undefined;
  if (signer === undefined || shape.signed === "none") return JSON.stringify(card);
  return signer.signText(card, shape.signed === "all" ? [card] : [membersOfCard(card).known, card]);
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

/** As `Vary` names what a shape depends on. */
const VERSION_HEADER = "A2A-Version";

/** The card of an agent, with the interface addresses that work for a request of this origin. */
export function cardAt(served: AgentRegistration, address: PublicAddress, origin?: RequestOrigin): AgentCard {
  return withInterfaces(served.card, address.interfaces(served.tenant, origin));
}

function shownAt({ all }: AgentDirectory, path: string, wellKnown: string): AgentRegistration | undefined {
  if (path === wellKnown) return all[0];
  try {
    const tenant = decodeURIComponent(path.slice(1, -wellKnown.length));
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
