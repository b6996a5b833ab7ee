import { A2AError } from "../core/error.js";
import { lazyImport } from "../core/lazy.js";
import type { OlderCalls } from "./older-calls.js";

/** A further version that clients support: the part known before it is loaded. */
export interface OlderVersion {
  /** `Major.Minor`. */
  readonly name: string;
  /** Its bindings, as cards name them. */
  readonly bindings: readonly string[];
  /** The header that names extensions, in lower case. Undefined if it has none. */
  readonly extensions?: string;
  /** The other possible version of a card that names none. */
  readonly alike?: string;
  /** True if callers choose the ids of tasks. */
  readonly hasCallersIds?: boolean;
  /** Loads its calls. @param binding one of its bindings */
  load(binding: string): Promise<{ readonly calls: OlderCalls }>;
}

const jsonOfV03 = lazyImport(() => import("./v0.3/calls.js"));
const grpcOfV03 = lazyImport(() => import("./v0.3/grpc-calls.js"));
const extensions = "x-a2a-extensions";

/**
 * The registry of clients, newest version first. It is small, because browsers load it before the first call. Servers
 * recognize these versions by names in the path or the request, so calls name no version.
 */
export const olderVersions: readonly OlderVersion[] = [
  {
    name: "0.3",
    bindings: ["JSONRPC", "HTTP+JSON", "GRPC"],
    extensions,
    load: (binding) => (binding === "GRPC" ? grpcOfV03() : jsonOfV03()),
  },
  { name: "0.2", bindings: ["JSONRPC"], extensions, alike: "0.1", load: lazyImport(() => import("./v0.2/calls.js")) },
  {
    name: "0.1",
    bindings: ["JSONRPC"],
    alike: "0.2",
    hasCallersIds: true,
    load: lazyImport(() => import("./v0.1/calls.js")),
  },
];

/** Path of cards before 0.3. Clients look there after the path of 1.0. */
export const EARLIER_CARD_PATH = "/.well-known/agent.json";

/** Loads the conversion of cards before 1.0. */
export const loadCardConversion: () => Promise<typeof import("./card-from-older.js")> = lazyImport(
  () => import("./card-from-older.js"),
);

/** Loads a part of an older version. @throws A2AError with reason INTERNAL if that fails */
export async function loaded<T>(part: Promise<T>): Promise<T> {
  try {
    return await part;
  } catch (cause) {
    throw new A2AError("INTERNAL", "A part of this program cannot be loaded.", { cause });
  }
}
