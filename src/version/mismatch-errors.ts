import { A2AError, restated } from "../core/error.js";
import { versionWithMethod, versionWithPath } from "./recognition.js";
import type { Versions } from "./versions.js";

/** Method names that texts about some version mention although no version has them, with the intended names. */
const lookalikes: Readonly<Record<string, string>> = {
  "tasks/list": "ListTasks",
  "agent/authenticatedExtendedCard": "GetExtendedAgentCard",
};

/**
 * The error for an unknown method. If another version has it, the error names that version and explains how to call it.
 *
 * @param asked the version that the call names
 */
export function methodNotFound(name: string, asked: string | undefined, versions: Versions): A2AError {
  const { native, others, off, text } = versions;
  const found = (why: string, metadata: Readonly<Record<string, string>>): A2AError =>
    new A2AError("METHOD_NOT_FOUND", `Method not found${why}`, { metadata: { supportedVersions: text, ...metadata } });
  const named = asked === undefined ? undefined : versions.named(asked);
  const ownVersion = versionWithMethod(name, others)?.name ?? (isNative(name, versions) ? native.name : undefined);
  if (ownVersion !== undefined && named !== undefined) {
    const why = `: "${name}" is a method of A2A ${ownVersion}, and the call names version ${named} (header A2A-Version).`;
    return found(why, { requestedVersion: named });
  }
  const older = versionWithMethod(name, off);
  const method = older?.methods?.[name] ?? (Object.hasOwn(lookalikes, name) ? lookalikes[name] : undefined);
  if (method === undefined) return new A2AError("METHOD_NOT_FOUND", "Method not found");
  const why =
    `: "${name}" belongs to an earlier version of A2A. ` +
    `This server speaks A2A ${text} (header A2A-Version: ${native.name}), where the method is ${method}.`;
  return found(why, { method });
}

function isNative(name: string, { native }: Versions): boolean {
  return native.jsonRpc.methods.some((method) => method.name === name);
}

/**
 * The error for a gRPC or Connect path of a disabled version's service. It names the service to use instead. Undefined
 * for every other path.
 */
export function serviceSwitchedOff(path: string, versions: Versions): A2AError | undefined {
  const { native, off, text } = versions;
  // Some requests have a path without a slash, such as "*".
  const [, name = ""] = path.split("/", 2);
  const isOff = off.some(({ grpc, connect }) => [grpc, connect].some((service) => service?.typeName === name));
  if (!isOff) return undefined;
  const why =
    `Method not found: "${name}" belongs to an earlier version of A2A. ` +
    `This server speaks A2A ${text}, where the service of ${native.name} is ${native.grpc.typeName}.`;
  return new A2AError("METHOD_NOT_FOUND", why, { metadata: { supportedVersions: text } });
}

/**
 * Explains an HTTP+JSON error of a request whose path begins like those of another version. If that version is disabled
 * and the request does not name the service's own, the error names the enabled versions. If an invalid request names
 * the service's own version, the error explains that its path is that of a tenant. Successful requests are not
 * affected, because a tenant may be called `v1`.
 *
 * @param asked the version that the request names
 */
export function pathExplained(
  error: A2AError,
  { path, asked }: { readonly path: string; readonly asked: string | undefined },
  versions: Versions,
): A2AError {
  const { native, off, text } = versions;
  if (![400, 404, 405].includes(error.row.http)) return error;
  const [, segment = ""] = path.split("/");
  const named = asked === undefined ? undefined : versions.named(asked);
  const isNative = named !== undefined && versions.isAsNative(named);
  if (isNative && error.reason === "INVALID_PARAMS") {
    const owner = versionWithPath(path, versions.others)?.name;
    const why =
      `Paths below /${segment} are those of A2A ${owner} in calls that do not name ${named} (header A2A-Version); ` +
      `this one is for the tenant "${segment}".`;
    return owner === undefined ? error : withMore(error, why, text);
  }
  if (isNative || versionWithPath(path, off) === undefined) return error;
  const why =
    `Paths below /${segment} belong to an earlier version of A2A. ` +
    `This server speaks A2A ${text} (header A2A-Version: ${native.name}), whose paths begin without it.`;
  return withMore(error, why, text);
}

/** Returns the error with an additional sentence. */
function withMore(error: A2AError, why: string, supportedVersions: string): A2AError {
  const message = `${error.message.replace(/[^.]$/, "$&.")} ${why}`;
  return restated(error, { message, metadata: { supportedVersions } });
}
