import { lazyImport } from "../../core/lazy.js";
import { v1 } from "../v1.js";
import { type ProtocolVersion, shapeOf } from "../version.js";

/**
 * A2A 1.1 according to its draft. Disabled unless the option `preview` enables it. Once final, it moves to
 * `servedVersions`.
 */
export function v11(): ProtocolVersion {
  // The service has the same name as in 1.0, so only `A2A-Version` distinguishes the two.
  const service = shapeOf(v1.grpc);
  return {
    name: "1.1",
    extendsNative: true,
    interfaces: ["jsonRpc", "rest", "connect", "grpc"],
    grpc: service,
    connect: service,
    load: lazyImport(async () => (await import("./loaded.js")).loaded),
  };
}
