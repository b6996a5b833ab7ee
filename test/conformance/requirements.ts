import { behaviour } from "./requirements/behaviour.js";
import { operations } from "./requirements/operations.js";
import { pushAndCards } from "./requirements/push-and-cards.js";
import type { Requirement } from "./requirements/requirement.js";
import { wires } from "./requirements/wires.js";

/** The specification's requirements for a server, numbered by subject. Cases name the requirements that they cover. */
export const requirements: readonly Requirement[] = [...operations, ...pushAndCards, ...behaviour, ...wires];

/** Requirements that tests and documents outside this folder cover, with the path. */
export const elsewhere: Readonly<Record<string, string>> = {
  "SRV-GEN-01": "test/contract/contract.tools.ts",
  "SRV-GRPC-01": "test/binding/grpc/server.test.ts",
  "SRV-GRPC-02": "test/contract/contract.tools.ts",
  "SRV-REST-07": "test/wire/query.test.ts",
  "SRV-CARD-15": "test/server/create-server.test.ts",
  "SRV-SEC-01": "test/http/node/listen.test.ts",
  "SRV-SEC-02": "test/http/node/listen.test.ts",
  "SRV-SEC-03": "test/server/create-server.test.ts",
  "SRV-SEC-18": "test/store/memory/contract.test.ts",
  "SRV-CANC-05": "test/store/memory/contract.test.ts",
  "SRV-CUST-06": "docs/bindings/connect.md",
  "SRV-CUST-07": "docs/bindings/connect.md",
  "SRV-CUST-13": "test/conformance/cross-binding.test.ts",
  "SRV-CARD-22": "test/server/card-signing.test.ts",
  "SRV-REST-14": "test/binding/rest/binding.test.ts",
  "SRV-PCFG-14": "test/push/deleted.test.ts",
  "SRV-PCFG-17": "test/push/at-rest.test.ts",
  "SRV-PCFG-21": "test/push/target/resolver.test.ts",
  ...Object.fromEntries(
    ["01", "02", "03", "04", "07", "08", "12", "14"].map((n) => [`SRV-PUSH-${n}`, "test/push/dispatcher.test.ts"]),
  ),
  "SRV-PUSH-05": "test/push/at-rest.test.ts",
  ...Object.fromEntries(["09", "11"].map((n) => [`SRV-PUSH-${n}`, "test/push/giving-up.test.ts"])),
  ...Object.fromEntries(["10", "13"].map((n) => [`SRV-PUSH-${n}`, "test/push/target/post.test.ts"])),
  ...Object.fromEntries(ids(1, 9).map((id) => [id, "test/card/signing/canonical.test.ts"])),
  ...Object.fromEntries(ids(10, 15).map((id) => [id, "test/card/signing/verify.test.ts"])),
};

const noPrune = "the server uses no such freedom";
const agents = "a matter of the agent behind the server";
const operators = "a matter of whoever runs the server";
const future = "a rule for changes to come";

/** Requirements without a test, with the reason. */
export const reasons: Readonly<Record<string, string>> = {
  "SRV-PUSH-06": "the scheme is sent as its client has written it",
  "SRV-STRM-15": noPrune,
  "SRV-GET-05": noPrune,
  "SRV-LIST-14": noPrune,
  "SRV-CARD-20": noPrune,
  "SRV-TIME-03": noPrune,
  "SRV-RPC-08": noPrune,
  "SRV-SEC-16": noPrune,
  "SRV-XCRD-08": agents,
  "SRV-XCRD-10": agents,
  "SRV-XCRD-11": agents,
  "SRV-CTX-07": agents,
  "SRV-CTX-08": "contexts have no end of their own: a context is what its tasks have in common",
  "SRV-HIST-06": agents,
  "SRV-HIST-08": "the history keeps every message and every status message that something followed",
  "SRV-HIST-10": agents,
  "SRV-AUTH-06": "the authenticator of the server's owner answers for that; the service itself knows no scopes",
  "SRV-AUTH-12": operators,
  ...among(/^SRV-INTA-(04|08|09|10|11|12|13)$/, agents),
  "SRV-VER-10": "a client is not part of the package yet",
  "SRV-COMP-03": "a client is not part of the package yet",
  "SRV-EXT-07": future,
  "SRV-CUST-11": future,
  "SRV-SVC-04": "a rule for the specification itself; parameters of our own begin with parley-",
  "SRV-REST-08": "a client cannot break it: what is written with dots or brackets is an unknown parameter",
  "SRV-SEC-08": "the server follows no reference to a file; an agent that does has to check it",
  "SRV-SEC-11": operators,
  "SRV-SEC-12": operators,
  "SRV-SEC-13": operators,
  "SRV-SEC-15": "calls and streams that are open at once are limited; rates are for the proxy in front",
  "SRV-SEC-17": operators,
};

/** Requirements on signatures. */
function ids(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, i) => `SRV-SIGN-${String(from + i).padStart(2, "0")}`);
}

function among(ids: RegExp, reason: string): Record<string, string> {
  return Object.fromEntries(requirements.flatMap(([id]) => (ids.test(id) ? [[id, reason]] : [])));
}
