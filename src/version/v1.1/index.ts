import { latePart } from "../../core/late-part.js";
import { v1 } from "../v1.js";
import { type ProtocolVersion, shapeOf } from "../version.js";

/** A2A 1.1, as its draft has it: off where the option `preview` does not ask for it. Once it is final it is one of `servedVersions`. */
export function v11(): ProtocolVersion {
  // The service has the name that it has in 1.0, and `A2A-Version` alone tells the two apart.
  const service = shapeOf(v1.grpc);
  return {
    name: "1.1",
    extendsNative: true,
    interfaces: ["jsonRpc", "rest", "connect", "grpc"],
    grpc: service,
    connect: service,
    load: latePart(async () => (await import("./loaded.js")).loaded),
  };
}
