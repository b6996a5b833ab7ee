import type { OperatorStore } from "../task-store.js";
import type { Reader } from "./reader.js";
import { removeTasks } from "./removal.js";
import type { WriterClient } from "./writer-client.js";

/** Implements the part of the store for operators. */
export function operatorStoreOf({ operators }: Reader, writer: WriterClient): OperatorStore {
  return {
    listHeads: async (request) => operators.listHeads(request),
    listContexts: async (request) => operators.listContexts(request),
    listOwners: async (request) => operators.listOwners(request),
    listLeased: async (request) => operators.listLeased(request),
    removeTasks: async (request) => removeTasks(writer, request),
  };
}
