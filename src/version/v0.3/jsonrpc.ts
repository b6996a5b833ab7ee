import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import {
  A2AService,
  type AgentCard,
  AgentCardSchema,
  GetExtendedAgentCardRequestSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { expectMessage } from "../../wire/expect-message.js";
import { isSideEffectFree } from "../../wire/field-rules.js";
import { jsonReader } from "../../wire/json-reader.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { jsonPieces } from "../../wire/large/large.js";
import type { CardJson } from "../card-json.js";
import type { JsonRpcDialect, JsonRpcMethod } from "../jsonrpc.js";
import { cardToV03 } from "./card.js";
import { codes, type ErrorCodes, errorIn } from "./errors.js";
import { schemaForm } from "./json-form.js";
import { inVersionOfTask } from "./shared-methods.js";

/** Returns the dialect of 0.3 or 0.2 over JSON-RPC. */
export function jsonRpcOf(methods: Readonly<Record<string, string>>, table: ErrorCodes = codes): JsonRpcDialect {
  return {
    methods: Object.entries(methods).map(([name, rpc]) => jsonRpcMethod(name, rpc)),
    error: errorIn(table),
    isLenient: true,
    hasNoBatches: true,
  };
}

function jsonRpcMethod(name: string, rpc: string): JsonRpcMethod {
  const desc = A2AService.methods.find((method) => method.name === rpc) as DescMethod;
  const isStream = desc.methodKind === "server_streaming";
  const shape = { name, desc, isStream, isRead: isSideEffectFree(desc) };
  if (desc === A2AService.method.getExtendedAgentCard) {
    const write = (card: Message): string => writeCard(expectMessage(AgentCardSchema, card));
    const read = (): Message => create(GetExtendedAgentCardRequestSchema);
    return { ...shape, read, write, pieces: (card) => [write(card)] };
  }
  const readParams = jsonReader(desc.input, schemaForm);
  return inVersionOfTask({
    ...shape,
    // An error before the first event is sent within the stream only if the client resubscribes to an earlier task.
    errsAsEvent: desc === A2AService.method.subscribeToTask,
    read: (params) => readParams(params ?? {}),
    write: jsonWriter(desc.output, schemaForm),
    form: schemaForm,
    pieces: (result) => jsonPieces(desc.output, result, schemaForm),
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
