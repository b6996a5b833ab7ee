/** Where push notifications of the table go: nobody listens there. */
export const hook = "http://127.0.0.1:9/hook";

/** Options under which they may. */
export const toHook = { allowHttp: true, ports: [9], allow: ["127.0.0.1"] } as const;
