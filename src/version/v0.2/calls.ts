import type { DescMethod } from "@bufbuild/protobuf";
import { olderCard } from "../card-from-older.js";
import { cardReader, givesCard, JsonExchange } from "../json-exchange.js";
import type { OlderCalls, OlderMethod } from "../older-calls.js";
import { rpcMethod } from "../v0.3/calls.js";
import { texts } from "../v0.3/errors.js";

/** The card for authenticated callers, which is a GET next to the JSON-RPC endpoint in this version. */
function extendedCard(): OlderMethod {
  const read = cardReader(olderCard);
  return {
    name: "",
    verb: "GET",
    absent: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    begin: () => new JsonExchange({ json: undefined, beside: "agent/authenticatedExtendedCard" }, read),
  };
}

/** The calls of A2A 0.2: those of 0.3 over JSON-RPC, except for the card. */
export const calls: OlderCalls = {
  jsonRpc: (desc: DescMethod) => (givesCard(desc) ? extendedCard() : rpcMethod(desc)),
  texts,
};
