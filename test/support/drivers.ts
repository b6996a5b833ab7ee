import { type Address, type BindingName, type Driver, driverOf } from "./driver.js";
import { connectWire, grpcWebWire } from "./driver-connect.js";
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

/** The binding of a name. */
export function bindingOf(name: BindingName): Binding {
  const binding = bindings.find((known) => known.name === name);
  if (binding === undefined) throw new Error(`There is no binding ${name}.`);
  return binding;
}
