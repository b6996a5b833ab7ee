import type { A2AError } from "../../core/error.js";
import { type HttpRequest, serviceParameter } from "../../http/request.js";
import type { Invoke } from "../../service/invoke.js";
import type { JsonRpcDialect, JsonRpcMethod } from "../../version/jsonrpc.js";
import { OlderTable, translated } from "../../version/load.js";
import { methodNotFound, versionsByMethod, versionWithMethod } from "../../version/recognition.js";
import type { LoadedVersion, ProtocolVersion } from "../../version/version.js";
import type { Versions } from "../../version/versions.js";
import { VERSION_PARAMETER } from "../../wire/service-params.js";

/** How an error is written. */
export type ErrorShape = JsonRpcDialect["error"];

/** A method as one version has it. */
export interface RpcMethod extends JsonRpcMethod {
  /** Name of the version. */
  readonly version: string;
  readonly invoke: Invoke;
  readonly dialect: JsonRpcDialect;
  readonly error: ErrorShape;
}

/** What one version has: its methods by their names. */
interface Spoken {
  readonly methods: ReadonlyMap<string, RpcMethod>;
  readonly dialect: JsonRpcDialect;
}

/** The methods of all versions that are spoken over JSON-RPC. */
export class Methods {
  readonly #versions: Versions;
  readonly #native: ReadonlyMap<string, RpcMethod>;
  readonly #others: OlderTable<ReadonlyMap<string, Spoken>>;
  /** The version beside the native one that a call of a method is one of where it names none. */
  readonly #versionOfMethod: ReadonlyMap<string, ProtocolVersion>;
  /** Whether there is another version to choose. */
  readonly #isAlone: boolean;

  constructor(versions: Versions, invoke: Invoke) {
    const { native, others } = versions;
    this.#versions = versions;
    this.#isAlone = others.length === 0;
    this.#versionOfMethod = versionsByMethod(others);
    this.#native = methodsIn(native.name, native.jsonRpc, invoke);
    const spokenIn = (name: string, version: LoadedVersion): Spoken => {
      const { jsonRpc = nothing(native.jsonRpc) } = version;
      return { methods: methodsIn(name, jsonRpc, translated(version, invoke, versions.names)), dialect: jsonRpc };
    };
    this.#others = new OlderTable(
      versions,
      (loaded) => new Map([...loaded].map(([name, version]) => [name, spokenIn(name, version)])),
    );
  }

  /**
   * The method that a request asks for: of the version that it names, else of the service's own version, else of the first that has one
   * of that name. To be asked once the versions that it needs are loaded (`needsOlder`).
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

  /** Whether a request has a call of a version that has to be loaded first. @param json its body */
  needsOlder(json: unknown, request: HttpRequest): boolean {
    if (this.#isAlone || this.#versions.loaded !== undefined) return false;
    const asked = serviceParameter(request, VERSION_PARAMETER);
    const calls: readonly unknown[] = Array.isArray(json) ? json : [json];
    return calls.some((call) => {
      const name = (call as { method?: unknown } | null)?.method;
      return typeof name === "string" && this.#versionOf(name, asked) !== undefined;
    });
  }

  /** The version beside the native one that a method is to be looked up in; undefined for the native one. */
  #versionOf(name: string, asked: string | undefined): ProtocolVersion | undefined {
    const isUnnamed = asked === undefined || asked.trim() === "";
    if (isUnnamed) return this.#native.has(name) ? undefined : this.#versionOfMethod.get(name);
    const named = this.#versions.named(asked);
    return named === undefined ? undefined : this.#versions.other(named);
  }

  /** How the service's own version is spoken. */
  get native(): JsonRpcDialect {
    return this.#versions.native.jsonRpc;
  }

  /** The error for a method that is not there. One that only another version has is better explained by the version. */
  unknown(name: string, request: HttpRequest): A2AError {
    const asked = serviceParameter(request, VERSION_PARAMETER);
    const isNamed = asked !== undefined && (asked.trim() !== "" || versionWithMethod(name, this.#versions.off));
    if (isNamed && this.#versions.named(asked) === undefined) return this.#versions.unsupported(asked);
    return methodNotFound(name, asked?.trim() === "" ? undefined : asked, this.#versions);
  }

  /**
   * Tells if a request for an unknown method is answered although it has no id: clients of versions from before `A2A-Version` leave it out
   * (`JsonRpcDialect.isLenient`), and a request that names no version may be one of theirs (specification 3.6.2).
   */
  answersAll(request: HttpRequest): boolean {
    const asked = this.#isAlone ? undefined : serviceParameter(request, VERSION_PARAMETER);
    if (asked === undefined || asked.trim() === "") return this.#versions.others.some(({ isUnnamed }) => isUnnamed);
    return this.#versions.other(this.#versions.named(asked) ?? "")?.isUnnamed === true;
  }

  /** How errors are written that belong to no method: as the version has it that the request names, once it is loaded. */
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

/** Of a version that has no JSON-RPC. */
function nothing({ error }: JsonRpcDialect): JsonRpcDialect {
  return { methods: [], error };
}
