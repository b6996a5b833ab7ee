import type { Server, ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";

/** A service ready to be added to a server. */
export interface GrpcService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

/** The services that a package would add to a server. */
export function grpcServicesOf(add: (server: Pick<Server, "addService">) => void): GrpcService[] {
  const services: GrpcService[] = [];
  add({ addService: (definition, implementation) => services.push({ definition, implementation }) });
  return services;
}
