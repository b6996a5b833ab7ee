import { A2AError } from "../../core/error.js";
import type { Interceptor } from "../invoke.js";

/** Versions of the protocol that are spoken here, without patch numbers (specification 3.6). */
export const supportedVersions: readonly string[] = ["1.0"];

/** What an empty value means (specification 3.6.2). */
const emptyVersion = "0.3";

const versionForm = /^(\d+\.\d+)(\.\d+)?$/;

/**
 * Takes the version that the client asks for, by header, metadata or query parameter. Present but empty is 0.3. When
 * it is absent, what package, method or path imply is taken, unless `strict`, which reads an absent one as an empty
 * one. A patch number is not considered (specification 3.6, 3.6.1, 3.6.2).
 */
export function version(strict: boolean): Interceptor {
  return (next) => async (invocation) => {
    const { call } = invocation;
    const asked = call.header("a2a-version")?.trim();
    const implied = strict ? undefined : call.impliedVersion;
    const wanted = asked === undefined ? (implied ?? emptyVersion) : asked || emptyVersion;
    const majorMinor = versionForm.exec(wanted)?.[1];
    if (majorMinor === undefined || !supportedVersions.includes(majorMinor)) throw unsupported(wanted);
    return next(invocation);
  };
}

function unsupported(wanted: string): A2AError {
  const supported = supportedVersions.join(", ");
  const shown = wanted.slice(0, 32);
  return new A2AError("VERSION_NOT_SUPPORTED", `A2A version ${shown} is not supported; supported: ${supported}.`, {
    metadata: { requestedVersion: shown, supportedVersions: supported },
  });
}
