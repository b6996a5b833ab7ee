import type { DescMethod } from "@bufbuild/protobuf";
import { answerReader } from "../../wire/json-reader.js";
import { jsonWriter } from "../../wire/json-writer.js";
import type { OlderCalls, OlderMethod } from "../callable.js";
import { cardReader, givesCard, JsonExchange, withAllHistory, withHistoryOf } from "../json-exchange.js";
import { olderCard } from "../older-card.js";
import { texts } from "./error-texts.js";
import { schemaForm } from "./json-form.js";
import { methods } from "./methods.js";
import { restMethod, statuses } from "./rest-calls.js";

/** The method of JSON-RPC for one of the service (specification of 0.3, section 7). */
export function rpcMethod(desc: DescMethod): OlderMethod | undefined {
  const name = Object.keys(methods).find((each) => methods[each] === desc.name);
  if (name === undefined) return undefined;
  const write = jsonWriter(desc.input, schemaForm);
  const isCard = givesCard(desc);
  const read = isCard ? cardReader(olderCard) : answerReader(desc.output, schemaForm);
  return {
    name,
    verb: "POST",
    begin: (request) => {
      const json = isCard ? undefined : write(withAllHistory(request));
      return new JsonExchange({ json }, (answer) => withHistoryOf(request, read(answer)));
    },
  };
}

/** How A2A 0.3 is called over JSON-RPC and HTTP+JSON. */
export const calls: OlderCalls = { jsonRpc: rpcMethod, rest: restMethod, statuses, texts };
