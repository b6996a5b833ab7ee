import { type Address, type BindingName, type Driver, driverOf, type Wire } from "./driver.js";
import { connectWire, fetchWires, grpcHttpWire, grpcWebWire } from "./driver-connect.js";
import { grpcWire } from "./driver-grpc.js";
import { jsonRpcWire } from "./driver-jsonrpc.js";
import { restWire } from "./driver-rest.js";

/** A binding and how to speak it. */
export interface Binding {
  readonly name: BindingName;
  /** Name in test titles. Default: `name`. */
  readonly title?: string;
  /** True if calls go to `createA2A().fetch` instead of a server. */
  readonly isFetch?: boolean;
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

/** The bindings that `createA2A().fetch` serves. */
export const fetchBindings: readonly Binding[] = [
  fetchBinding("connect", (address) => fetchWires(address).connect()),
  fetchBinding("grpc-web", (address) => fetchWires(address)["grpc-web"]()),
  fetchBinding("jsonrpc", jsonRpcWire),
  fetchBinding("rest", restWire),
];

function fetchBinding(name: BindingName, wire: (address: Address) => Wire): Binding {
  return { name, title: `fetch, ${name}`, isFetch: true, connect: (address) => driverOf(wire(address)) };
}

/** gRPC once more, as the HTTP port speaks it: the same code as Connect and gRPC-Web, so a few cases will do. */
export const grpcHttp: Binding = { name: "grpc-http", connect: (address) => driverOf(grpcHttpWire(address)) };

/** The binding of a name. */
export function bindingOf(name: BindingName): Binding {
  const binding = [...bindings, grpcHttp].find((known) => known.name === name);
  if (binding === undefined) throw new Error(`There is no binding ${name}.`);
  return binding;
}
