import { logFacts } from "../../core/log.js";
import { messageIn } from "../../core/members.js";
import type { MismatchLog } from "../../version/mismatch-log.js";
import type { Versions } from "../../version/versions.js";
import { VERSION_PARAMETER } from "../../wire/service-params.js";
import type { ServiceInterceptor } from "../invoke.js";

/**
 * Checks the protocol version that the client names in a header, metadata or a query parameter. An empty value means
 * 0.3 or earlier. Without a value, the version implied by package, method or path is used; with `strict`, an absent
 * value counts as empty. Patch numbers are ignored (specification 3.6, 3.6.1, 3.6.2). A call that names one version but
 * uses another one's package, method or path is rejected.
 */
export function version(
  strict: boolean,
  versions: Versions,
  mismatches?: Pick<MismatchLog, "note">,
): ServiceInterceptor {
  return (next) => (invocation) => {
    const { call, method } = invocation;
    const asked = call.header(VERSION_PARAMETER);
    try {
      call.version = versions.versionOf(asked ?? (strict ? "" : undefined), call.impliedVersion);
    } catch (error) {
      const { binding, peer, requestId, traceParent, agent } = call;
      const cause = logFacts({ requestId, traceParent, agent });
      const why = messageIn(error);
      mismatches?.note({ binding, asked: method.name, version: asked, address: peer.address, why, cause });
      throw error;
    }
    return next(invocation);
  };
}
