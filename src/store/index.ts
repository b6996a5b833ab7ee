// The interface between Parley and a database. A store implements `TaskStore` and passes the suite of
// `parley-a2a/store/contract`.

export { alwaysHealthy, HealthSource, type StoreHealth, type StoreStatus } from "./health.js";
export * from "./task-store.js";
