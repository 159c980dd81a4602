"""A store of LangGraph: pass it to `builder.compile(store=store)`. It runs offline."""

from pagefault.integrations.langgraph import PagefaultStore

store = PagefaultStore(memory=":memory:")
store.put(("users", "ana"), "drink", {"likes": "green tea"})
store.put(("users", "ben"), "drink", {"likes": "dark roast coffee"})
for item in store.search(("users",), query="coffee"):
    print(item.namespace, item.value, item.score)
store.close()
