/** Outcome of an audited action. */
export type AuditOutcome = "success" | "denied" | "failure";

/** Description of one kind of audit event. */
interface AuditEventRow {
  readonly outcome: AuditOutcome;
  /** One sentence for the documentation. */
  readonly meaning: string;
  /** True for acts of the operator or of the server itself. Their records are never joined. */
  readonly isOwn?: boolean;
}

const row = (outcome: AuditOutcome, meaning: string): AuditEventRow => ({ outcome, meaning });
const own = (outcome: AuditOutcome, meaning: string): AuditEventRow => ({ outcome, meaning, isOwn: true });

/** Name of an event in the audit log. A name keeps its meaning in later versions. */
export type AuditEvent =
  | "authentication.failed"
  | "authentication.expired"
  | "access.denied"
  | "limit.hit"
  | "push.config-stored"
  | "push.config-deleted"
  | "push.target-refused"
  | "push.circuit-opened"
  | "push.dead-lettered"
  | "push.redriven"
  | "key.used"
  | "key.rotated"
  | "tls.reloaded"
  | "tls.reload-failed"
  | "tls.expiring"
  | "admin.login"
  | "admin.write"
  | "server.started"
  | "server.stopped"
  | "audit.lost";

/** Table of every event of the audit log. */
export const auditEvents: { readonly [E in AuditEvent]: AuditEventRow } = {
  "authentication.failed": row("denied", "Credentials are missing, wrong or could not be checked."),
  "authentication.expired": row("denied", "A stream ended because its caller's credentials expired."),
  "access.denied": row("denied", "A caller or host is not allowed, or a task does not exist."),
  "limit.hit": row("denied", "A call, request or connection exceeded the limit `limit`."),
  "push.config-stored": row("success", "A push notification configuration was created or replaced."),
  "push.config-deleted": row("success", "A push notification configuration was deleted."),
  "push.target-refused": row("denied", "A webhook's address is forbidden."),
  "push.circuit-opened": row("failure", "A receiver keeps failing and gets one delivery at a time."),
  "push.dead-lettered": row("failure", "Deliveries of a configuration were given up."),
  "push.redriven": own("success", "`count` deliveries that were given up or waited are retried."),
  "key.used": row("success", "A key signed a card or signs notifications (`use`, `key`)."),
  "key.rotated": own("success", "Other keys are used from now on, for `use`."),
  "tls.reloaded": own("success", "New TLS files are used for new connections."),
  "tls.reload-failed": own("failure", "New TLS files are unusable; the previous ones stay in use."),
  "tls.expiring": own("failure", "A TLS certificate has expired or will soon."),
  "admin.login": own("success", "An operator began a session of the console."),
  "admin.write": own("success", "An operator begins a change; `failure` tells that it failed."),
  "server.started": own("success", "The server accepts calls."),
  "server.stopped": own("success", "The server ended; the outcome is `failure` after an error."),
  "audit.lost": own("failure", "`count` records were lost between `at` and `until`."),
};
