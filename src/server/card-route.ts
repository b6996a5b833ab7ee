import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentRegistration } from "../card/agents.js";
import { type Conditions, cardText, createDocuments, type DocumentAnswer } from "../card/documents.js";
import { withInterfaces } from "../card/interfaces.js";
import { membersOfCard } from "../card/signing/canonical.js";
import type { CardSigner } from "../card/signing/kept-signatures.js";
import { type Logger, requestFacts } from "../core/log.js";
import type { StaticRoute } from "../http/dispatch.js";
import { addressHeaders, type RequestOrigin } from "../http/forwarded.js";
import type { HttpRequest } from "../http/request.js";
import type { HttpResponse } from "../http/response.js";
import { type CardShape, cardShapesOf, type ShapesAt } from "../version/card-shapes.js";
import { decodeSegment } from "../wire/path-template.js";
import { parseVersion, VERSION_PARAMETER, versionFromQuery } from "../wire/service-params.js";
import { JWKS_PATH } from "../wire/webhook.js";
import type { Settings } from "./options.js";
import type { PublicAddress } from "./public-address.js";
import type { PublicKeySource } from "./public-keys.js";
import { publicTenants } from "./public-tenants.js";

/**
 * Serves the card of the first agent at the well-known paths, and that of each agent below its tenant (specification
 * 8.2, 8.6), in the shape of the requested version, or in one that several versions can read.
 */
export function createCardRoute(
  settings: Settings,
  address: PublicAddress,
  signer: CardSigner | undefined,
): StaticRoute {
  const { basePath, logger, versions } = settings;
  const documents = createDocuments("application/json", {
    maxAgeSeconds: settings.cardMaxAgeSeconds,
    since: new Date(),
    vary: [VERSION_HEADER, ...(settings.trust === undefined ? [] : addressHeaders(settings.proxyHeaders))],
  });
  const paths = cardShapesOf(versions);
  const cardBelow = cardsBelow(settings);
  const fault = signer === undefined ? "cards cannot be shown" : "cards cannot be signed";
  const shownTo = (request: HttpRequest, asked: CardRequest, shapes: ShapesAt): ReturnType<StaticRoute> => {
    const { mount = basePath } = request.target;
    const shape = shapes.for(request.header(VERSION_PARAMETER) ?? versionFromQuery(request.target.query));
    const origin = requestOrigin(request, mount);
    const { name } = typeof shape === "string" ? { name: shape } : shape;
    const key = JSON.stringify([name, address.endpoints(asked.tenant, origin)]);
    const conditions = conditionsOf(request);
    const shown: CardView = { ...asked, address, origin, signer };
    if (typeof shape === "string" && signer === undefined) {
      return documents.now(key, () => cardText(cardIn(shape, shown)), conditions);
    }
    const answer = documents.later(key, () => cardDocument(shape, shown), conditions);
    const absent = (given: DocumentAnswer): HttpResponse => (given.status === 404 ? why(given, name) : given);
    return orServerError(answer instanceof Promise ? answer.then(absent) : answer, request, { logger, fault });
  };
  // Runs for every request, so it must be cheap.
  return (request) => {
    const { path } = request.target;
    for (const shapes of paths) {
      const asked = path.endsWith(shapes.path) ? cardBelow(path.slice(0, -shapes.path.length)) : undefined;
      if (asked !== undefined) return shownTo(request, asked, shapes);
    }
    return undefined;
  };
}

/** Adds the reason to a 404. Clients that ask for a card of this version usually know that the server speaks it. */
function why(given: DocumentAnswer, shape: string): HttpResponse {
  const reason = "its requirements cannot be expressed in that version";
  const version = parseVersion(shape) === undefined ? "an earlier version of A2A" : `A2A ${shape}`;
  return { ...given, type: "text/plain; charset=utf-8", body: `This agent has no card of ${version}: ${reason}.\n` };
}

/** A request for a card: its agent and tenant. */
interface CardRequest {
  readonly served: AgentRegistration;
  /** The tenant that its interfaces name, or imply by their URL. */
  readonly tenant: string;
}

/** A requested card, with the facts that its content depends on. */
interface CardView extends CardRequest {
  readonly address: PublicAddress;
  readonly origin: RequestOrigin;
  readonly signer: CardSigner | undefined;
}

function cardIn(shape: "native" | "all", { served, tenant, address, origin }: CardView): AgentCard {
  const interfaces = shape === "all" ? address.interfaces(tenant, origin) : address.nativeInterfaces(tenant, origin);
  return withInterfaces(served.card, interfaces);
}

/** Returns a card in a shape, signed if a signer is given; undefined if the shape cannot express the card. */
async function cardDocument(shape: CardShape, shown: CardView): Promise<string | undefined> {
  const { signer } = shown;
  if (typeof shape === "string") {
    const card = cardIn(shape, shown);
    return cardText(signer === undefined ? card : await signer.sign(card));
  }
  const make = await shape.load();
  const card = make(JSON.parse(cardText(cardIn("all", shown))));
  if (card === undefined) return shape.orNative ? cardDocument("native", shown) : undefined;
  if (signer === undefined || shape.signed === "none") return JSON.stringify(card);
  return signer.signText(card, shape.signed === "all" ? [card] : [membersOfCard(card).known, card]);
}

/** Serves the public keys of the keys that sign the server's cards and notifications. */
export function createKeysRoute({ cardMaxAgeSeconds, logger }: Settings, publicKeys: PublicKeySource): StaticRoute {
  const caching = { maxAgeSeconds: cardMaxAgeSeconds, since: new Date(), vary: [] };
  const documents = createDocuments("application/jwk-set+json", caching);
  const make = async (): Promise<string> => JSON.stringify(await publicKeys.all());
  return (request) => {
    if (request.target.path !== JWKS_PATH) return undefined;
    const fault = "public keys cannot be shown";
    return orServerError(documents.later("", make, conditionsOf(request)), request, { logger, fault });
  };
}

/**
 * Answers a failure to create the document with status 500. The returned promise never rejects, because some callers do
 * not use the answer.
 */
function orServerError(
  answer: HttpResponse | Promise<HttpResponse>,
  request: HttpRequest,
  { logger, fault }: { readonly logger: Logger; readonly fault: string },
): HttpResponse | Promise<HttpResponse> {
  if (!(answer instanceof Promise)) return answer;
  return answer.catch((error: unknown) => {
    logger.error({ err: error, ...requestFacts(request) }, fault);
    return { status: 500 };
  });
}

function conditionsOf(request: HttpRequest): Conditions {
  return { ifNoneMatch: request.header("if-none-match"), ifModifiedSince: request.header("if-modified-since") };
}

/** The header that selects a card's shape, as `Vary` names it. */
const VERSION_HEADER = "A2A-Version";

/** Returns the card of an agent, with interface addresses that work for a request of this origin. */
export function cardAt(served: AgentRegistration, address: PublicAddress, origin?: RequestOrigin): AgentCard {
  return withInterfaces(served.card, address.interfaces(served.tenant, origin));
}

/** Finds the agent whose card is at a path, by the part of the path before the well-known one. */
function cardsBelow(settings: Settings): (before: string) => CardRequest | undefined {
  const { agents } = settings;
  const [first] = agents.all;
  const isPublic = publicTenants(settings);
  return (before) => {
    if (before === "") return first && { served: first, tenant: first.tenant };
    const tenant = decodeSegment(before.slice(1));
    const served = tenant !== undefined && isPublic(tenant) ? agents.resolve(tenant) : undefined;
    return served && { served, tenant: tenant as string };
  };
}

/** Returns the origin of a request, which determines the addresses in its answer. */
export function requestOrigin(request: HttpRequest, mount: string): RequestOrigin {
  const { address, encrypted } = request.peer;
  return { header: (name) => request.header(name), address, encrypted, mount };
}
