/** The URL of push notifications in the tables. Its port does not listen. */
export const hook = "http://127.0.0.1:9/hook";

/** Options that allow notifications to `hook`. */
export const toHook = { allowHttp: true, ports: [9], allow: ["127.0.0.1"] } as const;
