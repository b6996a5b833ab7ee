import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { HttpAsk } from "../../client/platform.js";
import { EXTENSIONS_PARAMETER } from "../../wire/service-params.js";
import { type Check, type Finding, type Probe, unknownTask } from "../check.js";
import { type Change, type WireExchange, withHeader, withoutHeaders } from "../wire.js";

/** A credential that no agent accepts. */
const WRONG = "this-is-not-a-credential";

/** Checks of access and extensions. */
export const accessChecks: readonly Check[] = [
  {
    name: "no-credential",
    section: "7.4",
    requirement: "a call without the credentials that the card requires is refused",
    mend: "authenticate every call, over every binding",
    run: (probe) => refusal(probe, (ask) => withoutCredentials(probe, ask)),
  },
  {
    name: "wrong-credential",
    section: "7.4",
    requirement: "a call with a wrong credential is refused",
    mend: "verify credentials, and do not only look for them",
    run: (probe) => refusal(probe, (ask) => withWrongCredentials(probe, ask)),
  },
  {
    name: "challenge",
    isAdvice: true,
    section: "7.4",
    requirement: "the refusal of a call names the scheme in WWW-Authenticate",
    mend: "send WWW-Authenticate with the status 401",
    bindings: ["JSONRPC", "HTTP+JSON"],
    run: async (probe) => {
      if (!isGuarded(probe)) return open;
      const { headers, status } = await unknownTask(probe, (ask) => withoutCredentials(probe, ask));
      if (status !== 401) return { fault: `the status is ${status}, not 401` };
      return headers.has("www-authenticate") ? undefined : { fault: "WWW-Authenticate is missing" };
    },
  },
  {
    name: "required-extension",
    section: "3.3.2",
    requirement: "a call without an extension that the card requires fails with ExtensionSupportRequiredError",
    mend: "refuse calls that do not name the extension in A2A-Extensions, or declare it as not required",
    run: async (probe) => {
      const required = probe.card.capabilities?.extensions.some((each) => each.required) === true;
      if (!required) return { skipped: "the card requires none" };
      const exchange = await unknownTask(probe, (ask) => withHeader(ask, EXTENSIONS_PARAMETER, ""));
      return namesError(exchange, "EXTENSION_SUPPORT_REQUIRED", -32008)
        ? undefined
        : { fault: "the call is processed without it" };
    },
  },
];

const open: Finding = { skipped: "the card requires no credentials" };

const isGuarded = ({ card }: Probe): boolean => card.securityRequirements.length > 0;

async function refusal(probe: Probe, change: Change): Promise<Finding> {
  if (!isGuarded(probe)) return open;
  const exchange = await unknownTask(probe, change);
  const isRefused =
    exchange.status === 401 ||
    exchange.status === 403 ||
    ["7", "16"].includes(exchange.trailer("grpc-status") ?? "") ||
    /UNAUTHENTICATED|PERMISSION_DENIED|unauthori[sz]ed|unauthenticated|forbidden/i.test(exchange.body);
  return isRefused ? undefined : { fault: `the call is processed (HTTP ${exchange.status})` };
}

function namesError(exchange: WireExchange, reason: string, code: number): boolean {
  const { body } = exchange;
  return body.includes(reason) || body.includes(String(code)) || exchange.trailer("grpc-status") === "9";
}

/** Headers that hold credentials: the usual ones, and those of the card's API keys. */
function credentialHeaders({ card }: Probe): readonly string[] {
  return ["authorization", "cookie", "x-api-key", ...keysIn(card, "header").map((name) => name.toLowerCase())];
}

/** Names of the headers or query parameters of API keys. */
function keysIn({ securitySchemes }: AgentCard, location: "header" | "query"): readonly string[] {
  return Object.values(securitySchemes).flatMap(({ scheme }) =>
    scheme.case === "apiKeySecurityScheme" && scheme.value.location === location ? [scheme.value.name] : [],
  );
}

function withoutCredentials(probe: Probe, ask: HttpAsk): HttpAsk {
  const url = new URL(ask.url);
  for (const name of keysIn(probe.card, "query")) url.searchParams.delete(name);
  return { ...withoutHeaders(ask, ...credentialHeaders(probe)), url: url.href };
}

function withWrongCredentials(probe: Probe, ask: HttpAsk): HttpAsk {
  const url = new URL(ask.url);
  for (const name of keysIn(probe.card, "query")) url.searchParams.set(name, WRONG);
  const [, , , ...keys] = credentialHeaders(probe);
  const wrong = withHeader(withoutCredentials(probe, { ...ask, url: url.href }), "authorization", `Bearer ${WRONG}`);
  const named = keys.reduce((at, name) => withHeader(at, name, WRONG), wrong);
  return { ...named, url: url.href };
}
