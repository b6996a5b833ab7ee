// Parts for libraries that implement bindings or servers of their own. Authors of agents do not need
// them.

export type { BindingOptions, HttpBinding } from "./binding/binding.js";
export type { GrpcBinding } from "./binding/grpc/embedded/binding.js";
export { type AgentDirectory, type AgentRegistration, type AgentsInput, registerAgents } from "./card/agents.js";
export { buildCard, type ServerCapabilities } from "./card/build.js";
export { type Endpoints, interfacesOf, withInterfaces } from "./card/interfaces.js";
export type { CallStart } from "./core/call.js";
export type { HttpRequest, RequestTarget } from "./http/request.js";
export type { BodySource, BodyWriter, HeaderPairs, HttpResponse } from "./http/response.js";
export { chain } from "./service/invoke.js";
export { PROTOCOL_VERSION } from "./version/v1.js";
export { CONNECT_BINDING } from "./wire/card-names.js";
