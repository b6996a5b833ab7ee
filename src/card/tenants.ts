import { getOption } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../gen/google/api/http_pb.js";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";

/**
 * Values that no tenant may have, because the path of a request would be read as something else: the literal first
 * segments of the HTTP rules, such as `tasks`, beside which a tenant stands in `/{tenant}/tasks`; and the segment that
 * RFC 8615 reserves.
 */
export const reservedTenants: ReadonlySet<string> = new Set([
  ".well-known",
  ...A2AService.methods.flatMap((method) => literalsOf(getOption(method, http))),
]);

function literalsOf(rule: HttpRule): string[] {
  const path = typeof rule.pattern.value === "string" ? rule.pattern.value : "";
  const first = path.split("/")[1] ?? "";
  return [...(first === "" || first.startsWith("{") ? [] : [first]), ...rule.additionalBindings.flatMap(literalsOf)];
}

/** Why a tenant cannot be declared, as a sentence that begins with it, or undefined when it can. */
export function tenantFault(tenant: string): string | undefined {
  if (tenant.trim() === "") return "a tenant is empty";
  if (tenant.includes("/")) return `the tenant "${tenant}" contains a slash`;
  return reservedTenants.has(tenant) ? `the tenant "${tenant}" is reserved: paths begin with it` : undefined;
}
