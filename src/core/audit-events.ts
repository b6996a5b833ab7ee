/** How what is recorded ended. */
export type AuditOutcome = "success" | "denied" | "failure";

/** What is known of one kind of event. */
export interface AuditEventRow {
  readonly outcome: AuditOutcome;
  /** One sentence for the documentation. */
  readonly meaning: string;
  /** True: an act of whoever runs the server, or of the server itself. Its records are never joined. */
  readonly isOwn?: boolean;
}

const row = (outcome: AuditOutcome, meaning: string): AuditEventRow => ({ outcome, meaning });
const own = (outcome: AuditOutcome, meaning: string): AuditEventRow => ({ outcome, meaning, isOwn: true });

/** Name of an event in the audit log. Names are never used again for something else. */
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
  | "server.started"
  | "server.stopped"
  | "audit.lost";

/** Every event of the audit log: checks, documentation and tests are made from this table. */
export const auditEvents: { readonly [E in AuditEvent]: AuditEventRow } = {
  "authentication.failed": row(
    "denied",
    "A call has no credentials (`missing`), wrong ones (`refused`), or ones that could not be checked (the error's reason).",
  ),
  "authentication.expired": row("denied", "A stream was ended because its caller's credentials are no longer valid."),
  "access.denied": row(
    "denied",
    "A known caller may not do this, the host is not one of the allowed, or the task does not exist for the caller.",
  ),
  "limit.hit": row("denied", "A call, a request or a connection was refused by a limit, which `limit` names."),
  "push.config-stored": row("success", "A push notification configuration was made or replaced."),
  "push.config-deleted": row("success", "A push notification configuration was deleted."),
  "push.target-refused": row("denied", "A webhook's address is one that the target guard forbids."),
  "push.circuit-opened": row("failure", "A receiver fails again and again; it is tried by one delivery at a time."),
  "push.dead-lettered": row("failure", "Deliveries of a configuration were given up and wait for being redriven."),
  "push.redriven": own("success", "Deliveries that were given up are tried again; `count` says how many."),
  "key.used": row(
    "success",
    "A key has signed a card, or signs notifications from now on; `use` says which, `key` its id.",
  ),
  "key.rotated": own("success", "Other keys are used from now on; `use` says for what."),
  "tls.reloaded": own("success", "New TLS files are used for new connections."),
  "tls.reload-failed": own("failure", "New TLS files cannot be used; the ones before stay in use."),
  "tls.expiring": own("failure", "A TLS certificate in use has expired, or will soon."),
  "server.started": own("success", "The server serves calls."),
  "server.stopped": own("success", "The server has ended; `failure` where it did not end in order."),
  "audit.lost": own(
    "failure",
    "Records could not be written, by `--audit`, from `at` until `until`; `count` says how many.",
  ),
};
