import type { Logger } from "../core/log.js";

/** Returns the logger of the access log, whose lines name the operator in place of an owner. */
export function operatorLog(logger: Logger): Logger {
  const info: Logger["info"] = (facts, message) => {
    const { owner, ...others }: { readonly owner?: string } = facts;
    logger.info({ service: "admin", ...others, ...(owner !== undefined && { operator: owner }) }, message);
  };
  return { ...logger, info };
}
