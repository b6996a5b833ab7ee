import { latePart } from "../../core/late-part.js";
import { isSideEffectFree } from "../../wire/side-effects.js";
import type { LazyService } from "../lazy-service.js";
import { v1 } from "../v1.js";
import type { ProtocolVersion } from "../version.js";

/** The service has the name that it has in 1.0, and `A2A-Version` alone tells the two apart. */
const lazyService = (): LazyService => ({
  typeName: v1.grpc.typeName,
  methods: v1.grpc.methods.map((method) => ({
    name: method.name,
    isStream: method.methodKind === "server_streaming",
    isRead: isSideEffectFree(method),
  })),
  load: latePart(async () => (await import("./dialects.js")).loadedService),
});

/** A2A 1.1, as its draft has it: off where the option `preview` does not ask for it. Once it is final it is one of `servedVersions`. */
export function v11(): ProtocolVersion {
  const service = lazyService();
  return {
    name: "1.1",
    extendsNative: true,
    interfaces: ["jsonRpc", "rest", "connect", "grpc"],
    grpc: service,
    connect: service,
    load: latePart(async () => (await import("./dialects.js")).dialects),
  };
}
