import type { A2AError } from "../../core/error.js";
import { membersOf } from "../../core/members.js";
import { type HttpRequest, serviceParameter } from "../../http/request.js";
import type { Invoke } from "../../service/invoke.js";
import type { JsonRpcDialect, JsonRpcMethod } from "../../version/jsonrpc.js";
import { OlderTable, translated } from "../../version/load.js";
import { methodNotFound } from "../../version/mismatch-errors.js";
import { versionsByMethod, versionWithMethod } from "../../version/recognition.js";
import type { LoadedVersion, ProtocolVersion } from "../../version/version.js";
import type { Versions } from "../../version/versions.js";
import { VERSION_PARAMETER } from "../../wire/service-params.js";

/** Writes an error. */
export type ErrorShape = JsonRpcDialect["error"];

/** A method in one version. */
export interface RpcMethod extends JsonRpcMethod {
  /** Name of the version. */
  readonly version: string;
  readonly invoke: Invoke;
  readonly dialect: JsonRpcDialect;
  readonly error: ErrorShape;
}

/** The methods of one version by name. */
interface VersionMethods {
  readonly methods: ReadonlyMap<string, RpcMethod>;
  readonly dialect: JsonRpcDialect;
}

/** The methods of all versions with JSON-RPC. */
export class Methods {
  readonly #versions: Versions;
  readonly #native: ReadonlyMap<string, RpcMethod>;
  readonly #others: OlderTable<ReadonlyMap<string, VersionMethods>>;
  /** The version of each method that only other versions have, for calls that name no version. */
  readonly #versionOfMethod: ReadonlyMap<string, ProtocolVersion>;
  /** True if no other version is registered. */
  readonly #isAlone: boolean;

  constructor(versions: Versions, invoke: Invoke) {
    const { native, others } = versions;
    this.#versions = versions;
    this.#isAlone = others.length === 0;
    this.#versionOfMethod = versionsByMethod(others);
    this.#native = methodsIn(native.name, native.jsonRpc, invoke);
    const methodsOf = (name: string, version: LoadedVersion): VersionMethods => {
      const { jsonRpc = withoutMethods(native.jsonRpc) } = version;
      return { methods: methodsIn(name, jsonRpc, translated(version, invoke, versions.names)), dialect: jsonRpc };
    };
    this.#others = new OlderTable(
      versions,
      (loaded) => new Map([...loaded].map(([name, version]) => [name, methodsOf(name, version)])),
    );
  }

  /**
   * Returns the method that a request calls: in the version that it names, else in the service's own version, else in
   * the first version with a method of that name. Call it after the versions that the request needs are loaded
   * (`needsOlder`).
   */
  find(name: string, request: HttpRequest): RpcMethod | undefined {
    const method = this.#native.get(name);
    if (this.#isAlone) return method;
    const asked = serviceParameter(request, VERSION_PARAMETER);
    const { native } = this.#versions;
    if (method !== undefined && (asked === undefined || asked === "" || asked === native.name)) return method;
    const version = this.#versionOf(name, asked);
    if (version === undefined) return method;
    return this.#others.now?.get(version.name)?.methods.get(name);
  }

  /** Returns true if a request calls a version that must be loaded first. @param json the request's body */
  needsOlder(json: unknown, request: HttpRequest): boolean {
    if (this.#isAlone || this.#versions.loaded !== undefined) return false;
    const asked = serviceParameter(request, VERSION_PARAMETER);
    const calls: readonly unknown[] = Array.isArray(json) ? json : [json];
    return calls.some((call) => {
      const name = membersOf(call).method;
      return typeof name === "string" && this.#versionOf(name, asked) !== undefined;
    });
  }

  /** Returns the version to look a method up in, or undefined for the native one. */
  #versionOf(name: string, asked: string | undefined): ProtocolVersion | undefined {
    const isUnnamed = asked === undefined || asked.trim() === "";
    if (isUnnamed) return this.#native.has(name) ? undefined : this.#versionOfMethod.get(name);
    const named = this.#versions.named(asked);
    return named === undefined ? undefined : this.#versions.other(named);
  }

  /** The dialect of the service's own version. */
  get native(): JsonRpcDialect {
    return this.#versions.native.jsonRpc;
  }

  /**
   * Returns the error for an unknown method. If only another version has the method, the error is about the version.
   */
  unknown(name: string, request: HttpRequest): A2AError {
    const asked = serviceParameter(request, VERSION_PARAMETER);
    const isNamed = asked !== undefined && (asked.trim() !== "" || versionWithMethod(name, this.#versions.off));
    if (isNamed && this.#versions.named(asked) === undefined) return this.#versions.unsupported(asked);
    return methodNotFound(name, asked?.trim() === "" ? undefined : asked, this.#versions);
  }

  /**
   * Returns true if a request for an unknown method is answered even without an id. Clients of versions before
   * `A2A-Version` omit it (`JsonRpcDialect.isLenient`), and a request that names no version may be from such a client
   * (specification 3.6.2).
   */
  answersAll(request: HttpRequest): boolean {
    const asked = this.#isAlone ? undefined : serviceParameter(request, VERSION_PARAMETER);
    if (asked === undefined || asked.trim() === "") return this.#versions.others.some(({ isUnnamed }) => isUnnamed);
    return this.#versions.other(this.#versions.named(asked) ?? "")?.isUnnamed === true;
  }

  /**
   * Returns the dialect of errors that belong to no method: that of the version that the request names, once it is
   * loaded.
   */
  dialect(request: HttpRequest): JsonRpcDialect {
    const asked = this.#isAlone ? undefined : serviceParameter(request, VERSION_PARAMETER);
    const named = asked === undefined || asked.trim() === "" ? undefined : this.#versions.named(asked);
    const other = named === undefined ? undefined : this.#versions.other(named);
    return (other === undefined ? undefined : this.#others.now?.get(other.name)?.dialect) ?? this.native;
  }
}

function methodsIn(version: string, dialect: JsonRpcDialect, invoke: Invoke): ReadonlyMap<string, RpcMethod> {
  const { methods, error } = dialect;
  return new Map(methods.map((method) => [method.name, { ...method, version, invoke, dialect, error }]));
}

/** The dialect of a version without JSON-RPC. */
function withoutMethods({ error }: JsonRpcDialect): JsonRpcDialect {
  return { methods: [], error };
}
