// `parley-a2a/store`: the seam between Parley and a database. A store of one's own implements `TaskStore` and passes the suite
// of `parley-a2a/store/contract`.

export { alwaysHealthy, HealthSource, type StoreHealth, type StoreStatus } from "./health.js";
export * from "./task-store.js";
