import type { A2AError } from "../../core/error.js";
import { type HttpRequest, serviceParameter } from "../../http/request.js";
import type { Invoke } from "../../service/invoke.js";
import { methodNotFound } from "../../version/earlier-versions.js";
import type { JsonRpcDialect, JsonRpcMethod } from "../../version/jsonrpc.js";
import type { ProtocolVersion } from "../../version/version.js";
import type { Versions } from "../../version/versions.js";
import { VERSION_PARAMETER } from "../../wire/service-params.js";
import { serveIn } from "../binding.js";

/** How an error is written. */
export type ErrorShape = JsonRpcDialect["error"];

/** A method as one version has it. */
export interface RpcMethod extends JsonRpcMethod {
  /** Name of the version. */
  readonly version: string;
  readonly invoke: Invoke;
  readonly error: ErrorShape;
}

/** The methods of all versions that are spoken over JSON-RPC. */
export class Methods {
  readonly #versions: Versions;
  /** By name; where several versions have one of that name, that of the first. */
  readonly #all: ReadonlyMap<string, RpcMethod>;
  /** The same of each version; undefined where there is one alone, and nothing to choose from. */
  readonly #ofVersion: ReadonlyMap<string, ReadonlyMap<string, RpcMethod>> | undefined;

  constructor(versions: Versions, invoke: Invoke) {
    const spoken = versions.all.map((version) => methodsIn(version, invoke));
    this.#versions = versions;
    this.#all = byName(spoken.toReversed().flat());
    if (spoken.length > 1) {
      this.#ofVersion = new Map(versions.all.map(({ name }, i) => [name, byName(spoken[i] ?? [])]));
    }
  }

  /** The method that a request asks for: of the version that it names, else of the first that has one of that name. */
  find(name: string, request: HttpRequest): RpcMethod | undefined {
    const method = this.#all.get(name);
    if (this.#ofVersion === undefined) return method;
    const asked = serviceParameter(request, VERSION_PARAMETER);
    if (asked === undefined || asked === method?.version) return method;
    const named = this.#versions.named(asked);
    return named === undefined ? method : this.#ofVersion.get(named)?.get(name);
  }

  /** The error for a method that is not there. One that only another version has is better explained by the version. */
  unknown(name: string, request: HttpRequest): A2AError {
    const version = serviceParameter(request, VERSION_PARAMETER);
    if (version !== undefined && this.#versions.named(version) === undefined)
      return this.#versions.unsupported(version);
    return methodNotFound(name, this.#versions);
  }

  /** How errors are written that belong to no method: as the version has it that the request names, else the native one. */
  errorShape(request: HttpRequest): ErrorShape {
    const { native, all } = this.#versions;
    const asked = this.#ofVersion && serviceParameter(request, VERSION_PARAMETER);
    if (asked === undefined) return native.jsonRpc.error;
    const named = this.#versions.named(asked);
    return (all.find(({ name }) => name === named)?.jsonRpc ?? native.jsonRpc).error;
  }
}

function methodsIn(version: ProtocolVersion, invoke: Invoke): RpcMethod[] {
  const { name, jsonRpc } = version;
  if (jsonRpc === undefined) return [];
  const { methods, error } = jsonRpc;
  const serve = serveIn(version, invoke);
  return methods.map((method) => ({ ...method, version: name, invoke: serve, error }));
}

function byName(methods: readonly RpcMethod[]): ReadonlyMap<string, RpcMethod> {
  return new Map(methods.map((method) => [method.name, method]));
}
