import pandas as pd
import matplotlib.pyplot as plt

frame = pd.DataFrame({"month": ["Jan", "Feb", "Mar"], "sold": [30, 45, 20]})
frame.plot.bar(x="month", y="sold", title="Sold")
plt.show()
frame
