import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import {
  A2AService,
  type AgentCard,
  AgentCardSchema,
  GetExtendedAgentCardRequestSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { expectMessage } from "../../wire/expect-message.js";
import { jsonWriter } from "../../wire/json-writer.js";
import type { CardJson } from "../card-json.js";
import { type JsonRpcDialect, type JsonRpcMethod, jsonRpcMethod } from "../jsonrpc.js";
import { cardToV03 } from "./card.js";
import { codes, type ErrorCodes, errorIn } from "./errors.js";
import { schemaForm } from "./json-form.js";
import { inVersionOfTask } from "./shared-methods.js";

/** Returns the dialect of 0.3 or 0.2 over JSON-RPC. */
export function jsonRpcOf(methods: Readonly<Record<string, string>>, table: ErrorCodes = codes): JsonRpcDialect {
  return {
    methods: Object.entries(methods).map(([name, rpc]) => methodOf(name, rpc)),
    error: errorIn(table),
    isLenient: true,
    hasNoBatches: true,
  };
}

function methodOf(name: string, rpc: string): JsonRpcMethod {
  const desc = A2AService.methods.find((method) => method.name === rpc) as DescMethod;
  if (desc === A2AService.method.getExtendedAgentCard) {
    const write = (card: Message): string => writeCard(expectMessage(AgentCardSchema, card));
    const read = (): Message => create(GetExtendedAgentCardRequestSchema);
    return { ...jsonRpcMethod({ name, desc }), read, write, pieces: (card) => [write(card)] };
  }
  return inVersionOfTask({
    ...jsonRpcMethod({ name, desc }, schemaForm),
    // An error before the first event is sent within the stream only if the client resubscribes to an earlier task.
    errsAsEvent: desc === A2AService.method.subscribeToTask,
  });
}

const cardJson = jsonWriter(AgentCardSchema);

/**
 * Writes the extended card in the form of a version.
 *
 * @throws A2AError if that version cannot express it
 */
export function writeCardAs(card: AgentCard, form: (card: CardJson) => CardJson | undefined): string {
  const converted = form(JSON.parse(cardJson(card)));
  if (converted !== undefined) return JSON.stringify(converted);
  throw new A2AError("EXTENDED_AGENT_CARD_NOT_CONFIGURED", "The extended card has no form in this version of A2A.");
}

export const writeCard = (card: AgentCard): string => writeCardAs(card, (json) => cardToV03(json, "0.3"));
