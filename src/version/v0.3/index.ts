import { latePart } from "../../core/late-part.js";
import type { ProtocolVersion } from "../version.js";
import { grpcService } from "./grpc.js";
import { methods } from "./methods.js";

export { methods };

/** A2A 0.3: the tables that recognise its calls. `loaded.ts` has all other parts. */
export const v03: ProtocolVersion = {
  name: "0.3",
  interfaces: ["jsonRpc", "rest", "grpc"],
  isUnnamed: true,
  methods,
  paths: ["/v1/"],
  grpc: grpcService,
  connect: grpcService,
  extensionsParameter: "x-a2a-extensions",
  load: latePart(async () => (await import("./loaded.js")).loaded),
};
