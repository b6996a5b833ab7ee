import type { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import type { Call } from "../core/call.js";
import type { MethodTable } from "../service/invoke.js";

/** Right of an operator. `write` includes `read`. */
export type Role = "read" | "write";

/** The caller of the operator's service. */
export interface Operator {
  /** Name of the token or of the scheme's caller, for logs and the audit log. */
  readonly name: string;
  readonly role: Role;
}

/** The context of an operator's request. */
export interface AdminContext {
  readonly call: Call;
  readonly operator: Operator;
}

/** One function per rpc of the operator's service, by its local name. Those of streaming rpcs return an iterable. */
export type AdminMethods = MethodTable<(typeof AdminService)["method"], AdminContext>;
