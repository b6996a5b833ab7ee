import { create } from "@bufbuild/protobuf";
import * as earlier from "../../../gen/a2a/v1/a2a_pb.js";
import * as native from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { type Pair, pair } from "./pair-converters.js";

/** Protocol versions on cards of 0.3, with their names in 1.0. */
const FULL_VERSION = "0.3.0";
const VERSION = "0.3";

/** Cards and their parts: equal in both contracts, except for interfaces and security. */
export const cardPairs: readonly Pair[] = [
  pair(earlier.AgentCardSchema, native.AgentCardSchema, {
    renamed: { security: "securityRequirements" },
    onlyEarlier: [
      "protocolVersion",
      "url",
      "preferredTransport",
      "additionalInterfaces",
      "supportsAuthenticatedExtendedCard",
      "signatures",
    ],
    // A signature covers the document of its own version.
    onlyNative: ["supportedInterfaces", "signatures"],
    up: cardUp,
    down: cardDown,
  }),
  pair(earlier.AgentProviderSchema, native.AgentProviderSchema),
  pair(earlier.AgentCapabilitiesSchema, native.AgentCapabilitiesSchema, { onlyNative: ["extendedAgentCard"] }),
  pair(earlier.AgentExtensionSchema, native.AgentExtensionSchema),
  pair(earlier.AgentSkillSchema, native.AgentSkillSchema, { renamed: { security: "securityRequirements" } }),
  pair(earlier.SecuritySchema, native.SecurityRequirementSchema),
  pair(earlier.StringListSchema, native.StringListSchema),
  pair(earlier.SecuritySchemeSchema, native.SecuritySchemeSchema),
  pair(earlier.APIKeySecuritySchemeSchema, native.APIKeySecuritySchemeSchema, {
    up: (_, made) => {
      if (!["query", "header", "cookie"].includes(made.location)) made.location = "header";
    },
  }),
  pair(earlier.HTTPAuthSecuritySchemeSchema, native.HTTPAuthSecuritySchemeSchema),
  pair(earlier.OAuth2SecuritySchemeSchema, native.OAuth2SecuritySchemeSchema),
  pair(earlier.OpenIdConnectSecuritySchemeSchema, native.OpenIdConnectSecuritySchemeSchema),
  pair(earlier.MutualTlsSecuritySchemeSchema, native.MutualTlsSecuritySchemeSchema),
  pair(earlier.OAuthFlowsSchema, native.OAuthFlowsSchema, { onlyNative: ["deviceCode"] }),
  pair(earlier.AuthorizationCodeOAuthFlowSchema, native.AuthorizationCodeOAuthFlowSchema, {
    onlyNative: ["pkceRequired"],
  }),
  pair(earlier.ClientCredentialsOAuthFlowSchema, native.ClientCredentialsOAuthFlowSchema),
  pair(earlier.ImplicitOAuthFlowSchema, native.ImplicitOAuthFlowSchema),
  pair(earlier.PasswordOAuthFlowSchema, native.PasswordOAuthFlowSchema),
];

function cardUp(card: earlier.AgentCard, made: native.AgentCard): void {
  const { url, preferredTransport, additionalInterfaces, protocolVersion } = card;
  const [major = "0", minor = "3"] = (protocolVersion || VERSION).split(".");
  const main = { url, transport: preferredTransport || "JSONRPC" };
  const others = additionalInterfaces.filter((each) => each.url !== main.url || each.transport !== main.transport);
  made.supportedInterfaces = [main, ...others].map((each) =>
    create(native.AgentInterfaceSchema, {
      url: each.url,
      protocolBinding: each.transport,
      protocolVersion: `${major}.${minor}`,
    }),
  );
  made.capabilities ??= create(native.AgentCapabilitiesSchema);
  made.capabilities.extendedAgentCard = card.supportsAuthenticatedExtendedCard;
}

/**
 * @throws A2AError VERSION_NOT_SUPPORTED if 0.3 can express none of the card's interfaces, or none of its security
 * alternatives
 */
function cardDown(card: native.AgentCard, made: earlier.AgentCard): void {
  const [main, ...others] = card.supportedInterfaces
    .filter(({ protocolVersion, tenant }) => tenant === "" && isOurs(protocolVersion))
    .map(({ url, protocolBinding }) => create(earlier.AgentInterfaceSchema, { url, transport: protocolBinding }));
  if (main === undefined) throw unsayable("no interface for A2A 0.3");
  made.protocolVersion = FULL_VERSION;
  made.url = main.url;
  made.preferredTransport = main.transport;
  made.additionalInterfaces = others;
  made.supportsAuthenticatedExtendedCard = card.capabilities?.extendedAgentCard === true;
  dropDeviceCode(card, made);
}

function isOurs(version: string): boolean {
  return version === "" || version === VERSION || version.startsWith(`${VERSION}.`);
}

/**
 * Removes the schemes whose only flow 0.3 lacks, and each alternative that needs one. If no alternative is left, the
 * card cannot be expressed: an empty list would mean "no authentication".
 */
function dropDeviceCode(card: native.AgentCard, made: earlier.AgentCard): void {
  const dropped = Object.entries(card.securitySchemes)
    .filter(
      ([, { scheme }]) => scheme.case === "oauth2SecurityScheme" && scheme.value.flows?.flow.case === "deviceCode",
    )
    .map(([name]) => name);
  if (dropped.length === 0) return;
  for (const name of dropped) delete made.securitySchemes[name];
  for (const holder of [made, ...made.skills]) {
    const left = holder.security.filter(({ schemes }) => !dropped.some((name) => Object.hasOwn(schemes, name)));
    if (left.length === 0 && holder.security.length > 0) throw unsayable("no security scheme that A2A 0.3 supports");
    holder.security = left;
  }
}

function unsayable(what: string): A2AError {
  return new A2AError("VERSION_NOT_SUPPORTED", `The card of this agent has ${what}.`);
}
