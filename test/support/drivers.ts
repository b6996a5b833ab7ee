import { type Address, type BindingName, type Driver, driverOf } from "./driver.js";
import { connectWire, grpcHttpWire, grpcWebWire } from "./driver-connect.js";
import { grpcWire } from "./driver-grpc.js";
import { jsonRpcWire } from "./driver-jsonrpc.js";
import { restWire } from "./driver-rest.js";

/** A binding and how to speak it. */
export interface Binding {
  readonly name: BindingName;
  /** A client of a server; `close` it in the end. */
  connect(address: Address): Driver;
}

/** Every binding that a server offers, each spoken by an independent client. */
export const bindings: readonly Binding[] = [
  { name: "grpc", connect: (address) => driverOf(grpcWire(address)) },
  { name: "connect", connect: (address) => driverOf(connectWire(address)) },
  { name: "grpc-web", connect: (address) => driverOf(grpcWebWire(address)) },
  { name: "jsonrpc", connect: (address) => driverOf(jsonRpcWire(address)) },
  { name: "rest", connect: (address) => driverOf(restWire(address)) },
];

/** gRPC once more, as the HTTP port speaks it: the same code as Connect and gRPC-Web, so a few cases will do. */
export const grpcHttp: Binding = { name: "grpc-http", connect: (address) => driverOf(grpcHttpWire(address)) };

/** The binding of a name. */
export function bindingOf(name: BindingName): Binding {
  const binding = [...bindings, grpcHttp].find((known) => known.name === name);
  if (binding === undefined) throw new Error(`There is no binding ${name}.`);
  return binding;
}
