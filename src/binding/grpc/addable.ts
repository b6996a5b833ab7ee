import type { Server, ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";

/** A service ready to be added to a server. */
export interface Addable {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

/** The services that a package would add to a server. */
export function addablesOf(add: (server: Pick<Server, "addService">) => void): Addable[] {
  const services: Addable[] = [];
  add({ addService: (definition, implementation) => services.push({ definition, implementation }) });
  return services;
}
