import { create } from "@bufbuild/protobuf";
import { type AgentCard, type SecurityScheme, SecuritySchemeSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { placeOf } from "../../../client/credentials/api-key.js";
import { Failure, usage } from "../errors.js";
import { issuerOf } from "./oauth-options.js";
import type { Flow } from "./store.js";

export interface Plan {
  /** Name of the scheme; empty if the card declares none. */
  readonly scheme: string;
  /** Undefined if the card declares none. */
  readonly declared: SecurityScheme | undefined;
  /** Issuer that the card names for OAuth. */
  readonly issuedBy: string | undefined;
  readonly flow: Flow;
  /** Scopes that the card requires. */
  readonly scopes: readonly string[];
}

export interface Wish {
  readonly scheme: string | undefined;
  readonly flow: Flow | undefined;
  readonly issuer: string | undefined;
  /** True if the client has a secret. */
  readonly hasSecret: boolean;
}

/** Flows of the card, by ours. */
const declaredFlows: Readonly<Partial<Record<Flow, string>>> = {
  device: "deviceCode",
  code: "authorizationCode",
  "client-credentials": "clientCredentials",
};

/** Chooses the scheme and the flow of a login. @throws Failure if the card has none that fits */
export function planOf(card: AgentCard, wish: Wish): Plan {
  const names = namesOf(card);
  if (names.length === 0) return undeclared(wish);
  if (wish.scheme !== undefined && !names.includes(wish.scheme)) {
    throw usage(`--scheme: the card has no scheme ${JSON.stringify(wish.scheme)}`, `its schemes: ${names.join(", ")}`);
  }
  const allowed = wish.scheme === undefined ? names : [wish.scheme];
  const isUsual = (name: string): boolean => usualFlow(card.securitySchemes[name], wish) === wish.flow;
  // A token fits schemes of OAuth as well, but rather belongs to one of HTTP.
  for (const name of [...allowed.filter(isUsual), ...allowed]) {
    const declared = card.securitySchemes[name];
    const flow = declared && flowOf(declared, wish);
    if (declared === undefined || flow === undefined) continue;
    return {
      scheme: name,
      declared: withoutOtherFlow(declared, flow),
      issuedBy: issuerOf(declared),
      flow,
      scopes: scopesOf(card, name),
    };
  }
  const kinds = allowed.map((name) => `${name} (${usualFlow(card.securitySchemes[name], wish) ?? "no login"})`);
  throw wish.flow === undefined
    ? usage("the card has no scheme that a login can satisfy", mutualTlsHint(card))
    : usage(`--flow: ${wish.flow} fits no scheme of the card`, `its schemes: ${kinds.join(", ")}`);
}

function undeclared({ scheme, flow }: Wish): Plan {
  if (scheme !== undefined) throw usage(`--scheme: the card has no scheme ${JSON.stringify(scheme)}`);
  if (flow === undefined) {
    throw usage(
      "the card declares no security scheme, so there is nothing to log in for",
      "to store a credential all the same: --flow bearer, api-key or basic",
    );
  }
  if (declaredFlows[flow] !== undefined) {
    throw usage(`--flow: ${flow} needs a security scheme, and the card declares none`);
  }
  return { scheme: "", declared: undefined, issuedBy: undefined, flow, scopes: [] };
}

const mutualTlsHint = ({ securitySchemes }: AgentCard): string =>
  Object.values(securitySchemes).some(({ scheme }) => scheme.case === "mtlsSecurityScheme")
    ? "mutual TLS needs a certificate (--cert, --cert-key)"
    : "card get shows its schemes; --auth sends any value of Authorization";

/** Returns the names of all schemes, those of requirements first. */
function namesOf({ securityRequirements, securitySchemes }: AgentCard): readonly string[] {
  const required = securityRequirements.flatMap(({ schemes }) => Object.keys(schemes));
  return [...new Set([...required, ...Object.keys(securitySchemes)])].filter((name) =>
    Object.hasOwn(securitySchemes, name),
  );
}

/** Returns the scopes of the first requirement that names a scheme. */
function scopesOf({ securityRequirements }: AgentCard, name: string): readonly string[] {
  return securityRequirements.find(({ schemes }) => Object.hasOwn(schemes, name))?.schemes[name]?.list ?? [];
}

/** Returns the flow for a scheme; undefined if it cannot be the wanted one. */
function flowOf(declared: SecurityScheme, wish: Wish): Flow | undefined {
  if (wish.flow === undefined) return usualFlow(declared, wish);
  return flowFits(declared, wish.flow, wish) ? wish.flow : undefined;
}

function flowFits(declared: SecurityScheme, flow: Flow, { issuer }: Wish): boolean {
  const { scheme } = declared;
  if (flow === "api-key") return placeOf(declared) !== undefined;
  if (flow === "basic" || (flow === "bearer" && scheme.case === "httpAuthSecurityScheme")) {
    return scheme.case === "httpAuthSecurityScheme" && scheme.value.scheme.toLowerCase() === flow;
  }
  if (scheme.case === "openIdConnectSecurityScheme") return true;
  if (scheme.case !== "oauth2SecurityScheme") return false;
  const { flows, oauth2MetadataUrl } = scheme.value;
  return (
    flow === "bearer" || issuer !== undefined || oauth2MetadataUrl !== "" || flows?.flow.case === declaredFlows[flow]
  );
}

function usualFlow(declared: SecurityScheme | undefined, wish: Wish): Flow | undefined {
  const scheme = declared?.scheme;
  if (declared === undefined || scheme === undefined) return undefined;
  const typed = (["bearer", "basic", "api-key"] as const).find((flow) => flowFits(declared, flow, wish));
  const isOAuth = scheme.case === "openIdConnectSecurityScheme" || scheme.case === "oauth2SecurityScheme";
  if (!isOAuth) return typed;
  const named = scheme.case === "oauth2SecurityScheme" ? scheme.value.flows?.flow.case : undefined;
  const [flow] = Object.entries(declaredFlows).find(([, name]) => name === named) ?? [];
  if (flow !== undefined) return flow as Flow;
  const general = wish.hasSecret ? "client-credentials" : "device";
  return flowFits(declared, general, wish) ? general : undefined;
}

/** Drops the endpoints of other flows, because the client would use them for the chosen flow. */
function withoutOtherFlow(declared: SecurityScheme, flow: Flow): SecurityScheme {
  const { scheme } = declared;
  if (scheme.case !== "oauth2SecurityScheme" || scheme.value.flows?.flow.case === declaredFlows[flow]) return declared;
  const { oauth2MetadataUrl, description } = scheme.value;
  return create(SecuritySchemeSchema, {
    scheme: { case: "oauth2SecurityScheme", value: { oauth2MetadataUrl, description } },
  });
}

/** Returns the failure of a login that the issuer or the user refused. */
export function loginFailure(message: string, hint: string | null, cause?: unknown): Failure {
  return new Failure("A2ACLI_ERR_AUTH_FAILED", message, { hint, cause });
}
