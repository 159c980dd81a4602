"""The middleware of LangChain. A scripted model answers, so it runs offline."""

from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langgraph.checkpoint.memory import InMemorySaver

from pagefault.integrations.langchain import PagefaultMiddleware

paging = PagefaultMiddleware(memory=":memory:", window_tokens=8_000)
model = FakeListChatModel(responses=["Noted.", "Behind the barrel."])
agent = create_agent(model, middleware=[paging], checkpointer=InMemorySaver())
for said in ("The spare key hangs behind the barrel.", "Where does the spare key hang?"):
    asked = {"messages": [{"role": "user", "content": said}]}
    state = agent.invoke(asked, {"configurable": {"thread_id": "ana"}})
    print(state["messages"][-1].content)
paging.close()
