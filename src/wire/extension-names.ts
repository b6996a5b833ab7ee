/** URI of the extension for exact resume; `docs/extensions/resume.md` describes it. */
export const RESUME_EXTENSION = "urn:parley:ext:resume:v1";

/** URI of the extension for sends that are safe to repeat; `docs/extensions/idempotency.md` describes it. */
export const IDEMPOTENCY_EXTENSION = "urn:parley:ext:idempotency:v1";

/** Header, or gRPC metadata, that carries the key of a send. */
export const IDEMPOTENCY_KEY = "idempotency-key";

/** Names of the service parameters of exact resume. */
export const resumeParameters = {
  after: "parley-after-generation",
  wait: "parley-wait",
  expected: "parley-if-generation",
} as const;
